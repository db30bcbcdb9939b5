"""Pings to a real Scrapyd, and the crawls that come of them."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from configparser import ConfigParser
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.services import programs
from tests.services.scrapyd import PROJECT, running
from tests.site import Page, Site, urlset
from tests.waiting import wait_until

pytestmark = pytest.mark.service

TOKEN = "a-token-that-nobody-guesses"
FROM_ENVIRONMENT = "a-token-of-the-environment"
WRONG = "a-token-that-is-not-known"
SERVICE = "sitemap_harvest.services.ping.Ping"
FORM = "application/x-www-form-urlencoded"


def sections(options, **scrapyd):
    return {
        "scrapyd": scrapyd,
        "services": {"ping.json": SERVICE, "ping": SERVICE},
        "sitemap_harvest": {"project": PROJECT, "spider": "sitemap", **options},
    }


@pytest.fixture(scope="module")
def site():
    with Site({f"/{number}.xml": urlset(f"/page{number}") for number in range(20)}) as site:
        site.pages["/slow.xml"] = Page(urlset("/slow"), delay=5.0)
        yield site


@pytest.fixture(scope="module")
def port(site):
    return site.url.rpartition(":")[2]


@pytest.fixture(scope="module")
def opened(tmp_path_factory, port):
    """A Scrapyd without authentication of its own, whose pings are switched on with all there is."""
    folder = tmp_path_factory.mktemp("opened")
    (folder / "tokens").write_text(f"shop {TOKEN}\n", "utf-8")
    options = {
        "arguments": "store=snapshots\nemit=urls",
        "settings": 'FEEDS={"urls.jsonl": {"format": "jsonl"}}\nROBOTSTXT_OBEY=False',
        "hosts": f"127.0.0.1:{port} localhost:{port} 10.0.0.1 *.nowhere.invalid",
        "allow_private": "yes",
        "token_file": str(folder / "tokens"),
        "get": "yes",
        "per_minute": "1000",
        "per_minute_all": "1000",
        "access_log": "ping.log",
    }
    environment = {"SITEMAP_HARVEST_PING_TOKENS": FROM_ENVIRONMENT}
    with running(folder / "scrapyd", sections=sections(options, username=""), environment=environment) as scrapyd:
        yield scrapyd


def ping(scrapyd, sitemap, token=TOKEN, **more):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return scrapyd.ask("ping.json", data={"sitemap": sitemap, **more}, headers=headers, user=None)


def logged(scrapyd):
    return [json.loads(line) for line in (scrapyd.folder / "ping.log").read_text("ascii").splitlines()]


def scheduled(answer):
    assert (answer.status, answer.json["status"], answer.json["repeated"]) == (200, "ok", False), answer.text
    return answer.json["jobid"]


def test_a_ping_leads_to_a_crawl(opened, site):
    answer = ping(opened, f"{site.url}/1.xml")
    job = scheduled(answer)
    assert set(answer.json) == {"status", "jobid", "repeated", "node_name"}
    assert re.fullmatch("ping-[0-9a-f]{32}", job)
    opened.finished(job)
    items = [json.loads(line) for line in (opened.folder / "urls.jsonl").read_text("utf-8").splitlines()]
    assert [item["loc"] for item in items if item["sitemap"] == f"{site.url}/1.xml"] == [f"{site.url}/page1"]
    assert (opened.folder / "snapshots").is_dir()

    again = ping(opened, f"{site.url}/%31.xml")
    assert (again.status, again.json["jobid"], again.json["repeated"]) == (200, job, True)
    assert site.count("/1.xml") == 1


def test_a_line_is_logged_for_each_request(opened, site, port):
    before = len(logged(opened))
    job = scheduled(ping(opened, f"{site.url}/2.xml", FROM_ENVIRONMENT))
    ping(opened, f"{site.url}/2.xml")
    ping(opened, f"{site.url}/2.xml", WRONG)
    ping(opened, "https://user:password@127.0.0.1/\n{}")
    ping(opened, "user:pass/password@127.0.0.1/")
    opened.ask("ping", method="OPTIONS", user=None)
    lines = logged(opened)[before:]
    times = [line.pop("time") for line in lines]
    assert times == sorted(times)
    usual = {"peer": "127.0.0.1", "method": "POST", "token": "shop", "host": None, "sitemap": None, "job": None}
    taken = {"host": "127.0.0.1", "sitemap": f"{site.url}/2.xml", "status": 200, "job": job}
    assert lines == [
        usual | taken | {"token": "1", "result": "scheduled"},
        usual | taken | {"result": "repeated"},
        usual | {"token": None, "status": 401, "result": "wrong-token"},
        usual | {"sitemap": r"...@127.0.0.1/\n{}", "status": 400, "result": "bad-sitemap"},
        usual | {"sitemap": "...@127.0.0.1/", "status": 400, "result": "bad-sitemap"},
        usual | {"method": "OPTIONS", "token": None, "status": 204, "result": "options"},
    ]


def test_the_log_goes_on_in_a_new_file_when_it_is_rotated(opened, site):
    log = opened.folder / "ping.log"
    ping(opened, f"{site.url}/2.xml")
    rotated = log.rename(opened.folder / "ping.log.1")
    before = rotated.read_bytes()
    ping(opened, f"{site.url}/2.xml")
    assert (rotated.read_bytes(), len(logged(opened))) == (before, 1)


PARTS = b'--x\r\nContent-Disposition: form-data; name="sitemap"\r\n\r\nhttps://a.example/\r\n--x--\r\n'
PARTS_TYPE = "multipart/form-data; boundary=x"
REFUSED = [
    pytest.param({"data": {}}, 400, "no-sitemap", id="no-sitemap"),
    pytest.param({"data": {"sitemap": "sitemap.xml"}}, 400, "bad-sitemap", id="relative"),
    pytest.param({"data": {"sitemap": "a", "spider": "b"}}, 400, "bad-form", id="unknown-field"),
    pytest.param({"data": b"sitemap=%ff"}, 400, "bad-form", id="not-utf-8"),
    pytest.param({"data": {"sitemap": "x"}, "headers": {}}, 401, "no-token", id="no-token"),
    pytest.param({"data": {"sitemap": "x", "token": WRONG}, "headers": {}}, 401, "wrong-token", id="wrong-token"),
    pytest.param({"data": {"sitemap": "https://www.example.com/"}}, 403, "host-not-allowed", id="host"),
    pytest.param({"data": {"sitemap": "http://127.0.0.1:1/"}}, 403, "host-not-allowed", id="port"),
    pytest.param({"data": {"sitemap": "http://a.nowhere.invalid/"}}, 503, "lookup-failed", id="lookup"),
    pytest.param({"data": b"", "method": "PUT"}, 405, "method-not-allowed", id="put"),
    pytest.param({"data": b"", "method": "DELETE"}, 405, "method-not-allowed", id="delete"),
    pytest.param({"data": b"", "method": "BREW"}, 405, "method-not-allowed", id="unknown-method"),
    pytest.param({"data": b"sitemap=" + b"a" * 20_000}, 413, "body-too-long", id="long"),
    pytest.param({"data": b"sitemap=" + b"a" * 2_000_000}, 413, "body-too-long", id="huge"),
    pytest.param({"data": b"{}", "headers": {"Content-Type": "application/json"}}, 415, "media-type", id="json"),
    pytest.param({"data": PARTS, "headers": {"Content-Type": PARTS_TYPE}}, 415, "media-type", id="parts"),
    pytest.param({"path": f"ping?sitemap=x&token={TOKEN}"}, 400, "bad-form", id="token-in-address"),
    pytest.param({"path": f"ping/below?token={TOKEN}"}, 400, "bad-form", id="token-in-address-below"),
    pytest.param({"path": f"ping?{TOKEN}", "data": b""}, 400, "bad-form", id="token-as-address"),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "status", "code"), REFUSED)
def test_refusals(opened, request_, status, code):
    usual = {"path": "ping.json", "headers": {"Authorization": f"Bearer {TOKEN}"}, "user": None}
    answer = opened.ask(**usual | request_)
    assert (answer.status, answer.json["code"]) == (status, code), answer.text
    assert set(answer.json) == {"status", "code", "message"}
    assert answer.json["status"] == "error"
    assert answer.headers["Content-Type"] == "application/json"
    assert "Traceback" not in answer.text
    assert not any(name.lower().startswith("access-control") for name in answer.headers)
    needed = {401: "WWW-Authenticate", 405: "Allow", 503: "Retry-After"}
    assert needed.get(status, "Content-Type") in answer.headers


def test_options_and_head(opened):
    options = opened.ask("ping.json", method="OPTIONS", user=None, headers={"Origin": "https://evil.example"})
    assert (options.status, options.body, options.headers["Allow"]) == (204, b"", "GET, POST, OPTIONS")
    assert not any(name.lower().startswith("access-control") for name in options.headers)
    head = opened.ask("ping?sitemap=x", method="HEAD", user=None, headers={"Authorization": f"Bearer {TOKEN}"})
    assert (head.status, head.body, head.headers["Allow"]) == (405, b"", "GET, POST, OPTIONS")


def test_the_form_of_the_protocol(opened, site):
    url = f"{site.url}/3.xml?a=1&b=%C3%BC"
    site.pages["/3.xml?a=1&b=%C3%BC"] = urlset("/page3")
    headers = {"Authorization": f"Bearer {TOKEN}"}
    job = scheduled(opened.ask(f"ping?sitemap={quote(url, safe='')}", headers=headers, user=None))
    opened.finished(job)
    assert site.count("/3.xml?a=1&b=%C3%BC") == 1
    assert ping(opened, url).json["jobid"] == job, "both names are one service"


def test_pings_at_once_are_one_job(opened, port):
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ping(opened, f"http://localhost:{port}/4.xml"), range(8)))
    assert [answer.status for answer in answers] == [200] * 8
    assert len({answer.json["jobid"] for answer in answers}) == 1
    assert sorted(answer.json["repeated"] for answer in answers) == [False] + [True] * 7
    opened.finished(answers[0].json["jobid"])


def test_who_does_not_wait_for_the_answer_has_pinged(opened, port):
    url = f"http://localhost:{port}/5.xml"
    body = f"sitemap={quote(url)}&token={TOKEN}"
    address = opened.url.rpartition("/")[2].split(":")
    with socket.create_connection((address[0], int(address[1]))) as connection:
        head = f"POST /ping.json HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall((head + body).encode())
    wait_until(lambda: [line for line in logged(opened) if line["sitemap"] == url])
    [line] = [line for line in logged(opened) if line["sitemap"] == url]
    assert (line["status"], line["result"]) == (200, "scheduled")
    opened.finished(line["job"])


def test_a_request_that_is_cut_half_way_is_no_ping(opened):
    before = len(logged(opened))
    address = opened.url.rpartition("/")[2].split(":")
    with socket.create_connection((address[0], int(address[1]))) as connection:
        head = f"POST /ping.json HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM}\r\nContent-Length: 500\r\n\r\nsitemap=htt"
        connection.sendall(head.encode())
    ping(opened, "x")
    assert [line["result"] for line in logged(opened)[before:]] == ["bad-sitemap"]


def test_a_job_knows_no_token_and_is_one_as_long_as_it_runs(opened, site):
    job = scheduled(ping(opened, f"{site.url}/slow.xml"))
    wait_until(lambda: [each for each in opened.jobs()["running"] if each["id"] == job])
    found = [each for each in opened.jobs()["running"] if each["id"] == job]
    if (environment := Path(f"/proc/{found[0]['pid']}/environ")).exists():
        assert FROM_ENVIRONMENT not in environment.read_bytes().decode()
    assert ping(opened, f"{site.url}/slow.xml").json == {
        "status": "ok", "jobid": job, "repeated": True, "node_name": socket.gethostname()
    }  # fmt: skip
    opened.finished(job)


def test_a_private_host_is_let_in_by_name_and_leads_nowhere_else(opened, site, port):
    with Site({"/secret.xml": urlset("/secret")}) as other:
        site.pages["/leads-away.xml"] = Page(status=302, headers={"Location": f"{other.url}/secret.xml"})
        job = scheduled(ping(opened, f"{site.url}/leads-away.xml"))
        opened.finished(job)
        assert other.requests == []
    assert "out-of-scope" in opened.log(job)


def test_a_token_is_withdrawn(opened):
    file = opened.folder.parent / "tokens"
    text = file.read_text("utf-8")
    try:
        file.write_text("", "utf-8")
        assert ping(opened, "x").status == 401
        file.unlink()
        gone = ping(opened, "x")
        assert (gone.status, gone.json["code"]) == (503, "unavailable")
    finally:
        file.write_text(text, "utf-8")
    assert ping(opened, "x").status == 400


def test_no_token_is_in_any_file(opened):
    """Comes last of those that ping this Scrapyd."""
    files = [file for file in opened.folder.rglob("*") if file.is_file()]
    assert len(files) > 10
    for file in files:
        content = file.read_bytes()
        assert not any(token.encode() in content for token in (TOKEN, FROM_ENVIRONMENT, WRONG)), file
        assert b"password@" not in content or file.name == "scrapyd.conf", file
    assert "Traceback" not in opened.own_log


def test_behind_authentication_with_limits_and_over_a_restart(tmp_path, site, port):
    options = {
        "hosts": f"127.0.0.1:{port}",
        "allow_private": "yes",
        "tokens": TOKEN,
        "per_minute": "7",
        "max_pending": "1",
        "forwarded": "yes",
        "access_log": "ping.log",
    }
    site.pages["/10.xml"] = Page(urlset("/page10"), delay=3.0)
    first = {"sitemap": f"{site.url}/10.xml", "token": TOKEN}
    with running(tmp_path, sections=sections(options, poll_interval="3600")) as scrapyd:
        assert scrapyd.ask("ping.json", data=first, user=None).status == 401, "Scrapyd's own authentication"
        job = scheduled(scrapyd.ask("ping.json", data=first))
        assert [(each["id"], each["args"]["sitemap"]) for each in scrapyd.jobs()["pending"]] == [
            (job, first["sitemap"])
        ]
        full = scrapyd.ask("ping.json", data=first | {"sitemap": f"{site.url}/11.xml"})
        assert (full.status, full.json["code"], full.headers["Retry-After"]) == (503, "queue-full", "60")
        get = scrapyd.ask("ping.json?sitemap=x", headers={"X-Ping-Authorization": f"Bearer {TOKEN}"})
        assert (get.status, get.headers["Allow"]) == (405, "POST, OPTIONS")
    with running(tmp_path, sections=sections(options)) as scrapyd:
        again = scrapyd.ask("ping.json", data=first, headers={"X-Forwarded-For": "203.0.113.9, 2001:db8::7"})
        assert (again.status, again.json["jobid"], again.json["repeated"]) == (200, job, True)
        assert logged(scrapyd)[-1]["peer"] == "2001:db8::7"
        answers = [scrapyd.ask("ping.json", data={"token": TOKEN}) for _ in range(6)]
        assert {answer.status for answer in answers} == {400}
        answers = (scrapyd.ask("ping.json", data={"token": TOKEN}) for _ in range(100))
        refused = next(answer for answer in answers if answer.status == 429)
        assert refused.json["code"] == "too-many"
        assert 1 <= int(refused.headers["Retry-After"]) <= 9


def test_closed_by_default(tmp_path):
    with running(tmp_path, sections={"services": {"ping.json": SERVICE}}) as scrapyd:
        answer = scrapyd.ask("ping.json", data={"sitemap": "https://www.example.com/", "token": TOKEN})
        assert (answer.status, answer.json["code"]) == (403, "closed")
        assert "Pings are refused: no token is configured" in scrapyd.own_log
        assert '"result": "closed"' in scrapyd.own_log


def test_a_project_that_is_not_there_and_a_disk_that_is_full(tmp_path):
    options = {"tokens": TOKEN, "hosts": "93.184.216.34", "project": "nowhere", "access_log": "/dev/full"}
    with running(tmp_path, sections=sections(options)) as scrapyd:
        answer = scrapyd.ask("ping.json", data={"sitemap": "http://93.184.216.34/", "token": TOKEN})
        assert (answer.status, answer.json["code"], answer.headers["Retry-After"]) == (503, "unavailable", "60")
        assert "Scrapyd has no project 'nowhere'" in scrapyd.own_log
        assert "The access log of pings cannot be written; the line is {" in scrapyd.own_log
        assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param(
            {"spyder": "x"}, "spyder: there is no such option; did you mean spider? There are project", id="unknown"
        ),
        pytest.param({"token_file": "gone"}, "token_file is 'gone', and it cannot be read: no such file", id="no-file"),
        pytest.param({"access_log": "/nowhere/x"}, "access_log is '/nowhere/x', and it cannot be written", id="log"),
        pytest.param({"hosts": "%(x)s"}, "Bad value substitution", id="interpolation"),
    ],
)
def test_what_is_wrong_in_the_configuration_ends_the_start(tmp_path, options, words):
    config = ConfigParser(interpolation=None)
    config.read_dict({"scrapyd": {"http_port": "1"}, "services": {"ping.json": SERVICE}, "sitemap_harvest": options})
    with (tmp_path / "scrapyd.conf").open("w", encoding="utf-8") as file:
        config.write(file)
    run = subprocess.run(
        [programs.scrapyd() / "scrapyd", "--pidfile="],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(programs.ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 1
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("scrapyd.conf, section [sitemap_harvest]: ")
    assert words in last
    assert "Traceback" not in run.stderr + run.stdout
