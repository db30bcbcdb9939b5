"""Pings to a real Scrapyd, and the crawls that they start."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from configparser import ConfigParser
from urllib.parse import quote

import pytest

from tests.services import programs
from tests.services.scrapyd import PROJECT, running
from tests.site import Page, Site, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.service

TOKEN = "a-token-that-nobody-guesses"
WRONG = "a-token-that-is-not-known"
SERVICE = "sitemap_harvest.scrapyd_ping.Ping"
FORM = "application/x-www-form-urlencoded"
SETTINGS = """\
from sitemap_harvest.integration import default_settings as defaults

globals().update(defaults.ALL)
FEEDS = {"urls.jsonl": {"format": "jsonl"}}
"""


def sections(options, **scrapyd):
    usual = {"project": PROJECT, "spider": "sitemap", "tokens": TOKEN, "allow_private": "yes"}
    return {"scrapyd": scrapyd, "services": {"ping.json": SERVICE}, "sitemap_harvest": usual | options}


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
    """A Scrapyd without authentication that accepts pings."""
    hosts = {"hosts": f"127.0.0.1:{port} localhost:{port} *.nowhere.invalid"}
    folder = tmp_path_factory.mktemp("opened")
    with running(folder, sections=sections(hosts, username=""), settings=SETTINGS) as scrapyd:
        yield scrapyd


def ping(scrapyd, sitemap, token=TOKEN, **more):
    return scrapyd.ask("ping.json", data={"sitemap": sitemap, "token": token, **more}, user=None)


def scheduled(answer):
    assert (answer.status, answer.json["status"], answer.json["repeated"]) == (200, "ok", False), answer.text
    return answer.json["jobid"]


@pytest.mark.quick
def test_a_ping_leads_to_a_crawl(opened, site):
    answer = ping(opened, f"{site.url}/1.xml?a=1&b=%C3%BC")
    site.pages["/1.xml?a=1&b=%C3%BC"] = urlset("/page1")
    job = scheduled(answer)
    assert set(answer.json) == {"status", "jobid", "repeated", "node_name"}
    assert re.fullmatch("ping-[0-9a-f]{32}", job)
    opened.finished(job)
    items = [json.loads(line) for line in (opened.folder / "urls.jsonl").read_text("utf-8").splitlines()]
    assert [item["loc"] for item in items] == [f"{site.url}/page1"]
    assert [item["sitemap"] for item in items] == [f"{site.url}/1.xml?a=1&b=%C3%BC"]

    opened.finished(another := scheduled(ping(opened, f"{site.url}/1.xml?a=1&b=%C3%BC")))
    assert another != job


REFUSED = [
    pytest.param({"data": {"token": TOKEN}}, 400, "bad-sitemap", id="no-sitemap"),
    pytest.param({"data": {"token": TOKEN, "sitemap": "sitemap.xml"}}, 400, "bad-sitemap", id="relative"),
    pytest.param({"data": {"sitemap": "a", "spider": "b"}}, 400, "bad-form", id="unknown-field"),
    pytest.param({"data": {"token": [TOKEN, TOKEN]}}, 400, "bad-form", id="token-twice"),
    pytest.param({"data": b"sitemap=%ff"}, 400, "bad-form", id="not-utf-8"),
    pytest.param({"data": {"sitemap": "x"}}, 403, "wrong-token", id="no-token"),
    pytest.param({"data": {"sitemap": "x", "token": WRONG}}, 403, "wrong-token", id="wrong-token"),
    pytest.param({"data": {"token": TOKEN, "sitemap": "https://www.example.com/"}}, 403, "host-not-allowed", id="host"),
    pytest.param({"data": {"token": TOKEN, "sitemap": "http://127.0.0.1:1/"}}, 403, "host-not-allowed", id="port"),
    pytest.param({"data": {"token": TOKEN, "sitemap": "http://a.nowhere.invalid/"}}, 503, "lookup-failed", id="lookup"),
    pytest.param({"method": "GET"}, 405, "method-not-allowed", id="get"),
    pytest.param({"data": b"", "method": "PUT"}, 405, "method-not-allowed", id="put"),
    pytest.param({"method": "OPTIONS", "headers": {"Origin": "http://x"}}, 405, "method-not-allowed", id="options"),
    pytest.param({"data": b"", "method": "BREW"}, 405, "method-not-allowed", id="unknown-method"),
    pytest.param({"data": b"sitemap=" + b"a" * 20_000}, 413, "body-too-long", id="long"),
    pytest.param({"data": b"sitemap=" + b"a" * 2_000_000}, 413, "body-too-long", id="huge"),
    pytest.param({"data": b"{}", "headers": {"Content-Type": "application/json"}}, 403, "wrong-token", id="json"),
    pytest.param({"path": f"ping.json?token={TOKEN}", "data": b""}, 400, "bad-form", id="token-in-address"),
    pytest.param({"path": f"ping.json/below?token={TOKEN}", "data": b""}, 400, "bad-form", id="below"),
    pytest.param({"path": f"ping.json?{TOKEN}", "data": b""}, 400, "bad-form", id="token-as-address"),
]


@pytest.mark.quick
@pytest.mark.parametrize(("request_", "status", "code"), REFUSED)
def test_refusals(opened, request_, status, code):
    answer = opened.ask(**{"path": "ping.json", "user": None} | request_)
    assert (answer.status, answer.json["code"]) == (status, code), answer.text
    assert set(answer.json) == {"status", "code", "message"}
    assert answer.json["status"] == "error"
    assert answer.headers["Content-Type"] == "application/json"
    assert "Traceback" not in answer.text
    assert not any(name.lower().startswith("access-control") for name in answer.headers)
    expected = {405: ("Allow", "POST"), 503: ("Retry-After", "60")}
    assert expected.get(status, ("Cache-Control", "no-store")) in answer.headers.items()


def test_head(opened):
    head = opened.ask("ping.json", method="HEAD", user=None)
    assert (head.status, head.body, head.headers["Allow"]) == (405, b"", "POST")


def test_simultaneous_pings_are_one_job(opened, port):
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ping(opened, f"http://localhost:{port}/slow.xml"), range(8)))
    assert [answer.status for answer in answers] == [200] * 8
    assert len({answer.json["jobid"] for answer in answers}) == 1
    assert sorted(answer.json["repeated"] for answer in answers) == [False] + [True] * 7
    opened.finished(answers[0].json["jobid"])


def test_a_site_has_one_job_at_a_time(opened, site, port):
    job = scheduled(ping(opened, f"{site.url}/slow.xml"))
    wait_until(lambda: [each for each in opened.jobs()["running"] if each["id"] == job])
    again = {"status": "ok", "jobid": job, "repeated": True, "node_name": socket.gethostname()}
    assert ping(opened, f"{site.url}/%73low.xml").json == again, "another spelling"
    busy = ping(opened, f"{site.url}/2.xml")
    assert (busy.status, busy.json["code"], busy.headers["Retry-After"]) == (503, "busy", "60")
    assert f"the job {job}, for another sitemap of {site.url}, is queued or running" in busy.json["message"]
    other_site = scheduled(ping(opened, f"http://localhost:{port}/2.xml"))
    opened.finished(job, other_site)


def test_a_ping_counts_if_the_client_does_not_wait_for_the_response(opened, site):
    url = f"{site.url}/5.xml"
    body = f"sitemap={quote(url)}&token={TOKEN}"
    address = opened.url.rpartition("/")[2].split(":")
    with socket.create_connection((address[0], int(address[1]))) as connection:
        head = f"POST /ping.json HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall((head + body).encode())
    wait_until(lambda: site.count("/5.xml"))
    opened.finished(*(job["id"] for job in opened.jobs()["running"]))


def test_a_truncated_request_is_no_ping(opened):
    before = opened.jobs()
    address = opened.url.rpartition("/")[2].split(":")
    with socket.create_connection((address[0], int(address[1]))) as connection:
        head = f"POST /ping.json HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM}\r\nContent-Length: 500\r\n\r\nsitemap=htt"
        connection.sendall(head.encode())
    assert ping(opened, "x").status == 400
    assert opened.jobs() == before


def test_a_private_host_is_allowed_by_name_and_leads_nowhere_else(opened, site):
    with Site({"/secret.xml": urlset("/secret")}) as other:
        site.pages["/leads-away.xml"] = Page(status=302, headers={"Location": f"{other.url}/secret.xml"})
        job = scheduled(ping(opened, f"{site.url}/leads-away.xml"))
        opened.finished(job)
        assert other.requests == []
    assert "out-of-scope" in opened.log(job)


def test_no_token_is_in_any_log(opened):
    """Runs last of the tests that ping this Scrapyd."""
    assert ping(opened, "https://user:password@127.0.0.1/\n{}").status == 400
    files = [file for file in opened.folder.rglob("*") if file.is_file() and file.name != "scrapyd.conf"]
    assert len(files) > 10
    for file in files:
        content = file.read_bytes()
        assert not any(secret in content for secret in (TOKEN.encode(), WRONG.encode(), b"password@")), file
    assert "Traceback" not in opened.own_log


def test_authentication_and_restart(tmp_path, site, port):
    hosts = {"hosts": f"127.0.0.1:{port}"}
    first = {"sitemap": f"{site.url}/10.xml", "token": TOKEN}
    with running(tmp_path, sections=sections(hosts, poll_interval="3600")) as scrapyd:
        assert scrapyd.ask("ping.json", data=first, user=None).status == 401, "Scrapyd's own authentication"
        job = scheduled(scrapyd.ask("ping.json", data=first))
        pending = [(each["id"], each["args"]["sitemap"]) for each in scrapyd.jobs()["pending"]]
        assert pending == [(job, first["sitemap"])]
    with running(tmp_path, sections=sections(hosts, poll_interval="3600")) as scrapyd:
        again = scrapyd.ask("ping.json", data=first)
        assert (again.status, again.json["jobid"], again.json["repeated"]) == (200, job, True)


def test_private_addresses_and_missing_projects_are_rejected_by_default(tmp_path):
    options = {"hosts": "93.184.216.34 localhost", "project": "nowhere", "allow_private": "no"}
    with running(tmp_path, sections=sections(options, username="")) as scrapyd:
        private = ping(scrapyd, "http://localhost/")
        assert (private.status, private.json["code"]) == (403, "private-address")
        answer = ping(scrapyd, "http://93.184.216.34/")
        assert (answer.status, answer.json["code"], answer.headers["Retry-After"]) == (503, "unavailable", "60")
        assert "Scrapyd has no project 'nowhere': the operator must deploy it" in answer.json["message"]


def test_a_damaged_queue_is_an_error_of_the_service(tmp_path, site, port):
    with running(tmp_path, sections=sections({"hosts": f"127.0.0.1:{port}"}, username="")) as scrapyd:
        for file in tmp_path.glob("dbs/*"):
            file.write_bytes(b"no database" * 1000)
        answer = ping(scrapyd, f"{site.url}/1.xml")
        assert (answer.status, answer.json["code"]) == (500, "internal")
        assert "Traceback" not in answer.text
        assert "A ping failed" in scrapyd.own_log


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({}, "project is '': it must not be empty", id="without-a-section-it-is-closed"),
        pytest.param({"project": "p", "hosts": "a.example"}, "tokens is '': each token must have 16", id="no-token"),
        pytest.param({"spyder": "x"}, "spyder: unknown option; did you mean spider?", id="unknown"),
        pytest.param({"tokens": f"{TOKEN}%(x)s"}, "tokens: write each % twice, as %%", id="interpolation"),
        pytest.param({"tokens": f"%{TOKEN}"}, "tokens: write each % twice, as %%", id="percent-sign"),
    ],
)
def test_an_invalid_configuration_prevents_the_start(tmp_path, options, words):
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
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert run.returncode == 1
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("scrapyd.conf, section [sitemap_harvest]: ")
    assert words in last
    assert not re.search(f"Traceback|{TOKEN}", run.stderr + run.stdout)
