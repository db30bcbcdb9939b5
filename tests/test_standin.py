"""The stand-in for the web answers as documented."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request

import pytest

from tests.standin import StandIn


@pytest.fixture
def web(tmp_path):
    (tmp_path / "a.example").mkdir()
    (tmp_path / "a.example" / "s.xml").write_text("<urlset/>")
    (tmp_path / "closed.example").mkdir()
    (tmp_path / "closed.example" / "robots.txt").write_text("User-agent: *\n")
    (tmp_path / "closed.example" / ".password").write_text("user:secret\n")
    with StandIn(tmp_path) as web:
        yield web


def ask(web, url, **headers):
    trust = ssl.create_default_context(cadata=web.authority.decode())
    through = urllib.request.ProxyHandler({"http": web.url, "https": web.url})
    opener = urllib.request.build_opener(through, urllib.request.HTTPSHandler(context=trust))
    try:
        with opener.open(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_file(web, scheme):
    status, headers, body = ask(web, f"{scheme}://a.example/s.xml")
    assert (status, headers["Content-Type"], body) == (200, "application/xml", b"<urlset/>")
    assert ask(web, f"{scheme}://a.example/s.xml", **{"If-None-Match": headers["ETag"]})[0] == 304
    assert ask(web, f"{scheme}://a.example/s.xml", **{"If-Modified-Since": headers["Last-Modified"]})[0] == 304
    assert web.requests == [f"{scheme}://a.example/s.xml"] * 3


@pytest.mark.parametrize(
    ("path", "status", "has"),
    [
        pytest.param("a.example/blue-chair", 200, b"<title>Blue chair</title>", id="page"),
        pytest.param("a.example/", 200, b"<title>Home</title>", id="home"),
        pytest.param("a.example/other.xml", 404, b"No such page", id="no-file"),
        pytest.param("a.example/..%2Fclosed.example/robots.txt", 404, b"", id="out-of-the-folder"),
        pytest.param("b.example/", 404, b"no such host", id="no-host"),
        pytest.param("closed.example/robots.txt", 401, b"who are you?", id="closed"),
        pytest.param("closed.example/.password", 401, b"who are you?", id="password"),
    ],
)
def test_other_answers(web, path, status, has):
    found, _, body = ask(web, f"https://{path}")
    assert (found, has in body) == (status, True)


def test_a_host_with_a_password_answers_requests_with_the_password(web):
    answer = ask(web, "https://closed.example/robots.txt", Authorization="Basic dXNlcjpzZWNyZXQ=")
    assert answer[0] == 200
