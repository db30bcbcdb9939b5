"""Through a real proxy and through impostors: the requests, who receives its password, and the reports."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from base64 import b64encode
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec

import pytest

from tests.certificates import self_signed, self_signed_pem
from tests.services import lacking
from tests.services.proxy import running_proxy, wait_for
from tests.site import Site, index, moved, robots, urlset
from tests.waiting import PATIENCE_SECONDS

USER, PASSWORD = "proxyuser", "proxyword"
NO_HTTP = "the server does not speak HTTP"
LOGIN = f"{USER}:{PASSWORD}"
SETS_PROXY = {"DOWNLOADER_MIDDLEWARES": {"tests.crawl.parts.ThroughProxy": 740}}
H2 = {"https": "scrapy.core.downloader.handlers.http2.H2DownloadHandler"}
pytestmark = pytest.mark.xdist_group("proxies")


def through(address):
    """Return the environment variables that send all requests through the proxy at *address*."""
    return {"http_proxy": address, "https_proxy": address, "NO_PROXY": "", "no_proxy": ""}


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    with running_proxy(tmp_path_factory.mktemp("proxy"), (USER, PASSWORD)) as found:
        yield found


@pytest.fixture(params=["http", "https"])
def site(request):
    pages = {"/robots.txt": robots("/index.xml"), "/index.xml": index("/a.xml"), "/a.xml": urlset("/1", "/2")}
    with Site(pages, tls=self_signed("127.0.0.1") if request.param == "https" else None) as served:
        yield served


@pytest.mark.service
def test_by_environment_variables(site, crawl, proxy):
    run = crawl(site=site.url, environment=through(proxy.address(LOGIN)), settings={"LOG_LEVEL": "DEBUG"})
    assert run.locs == [f"{site.url}/1", f"{site.url}/2"]
    is_secure = site.url.startswith("https")
    host = site.url.partition("://")[2]
    expected = f"CONNECT {host} HTTP/1.1" if is_secure else f"GET {site.url}/a.xml HTTP/1.1"
    assert any(expected in line for line in proxy.requests())
    assert site.sent("Proxy-Authorization")["/a.xml"] == {None}, "it is for the proxy, and no site"
    for word in (PASSWORD, b64encode(LOGIN.encode()).decode()):
        assert word not in run.log


@pytest.mark.service
def test_by_a_middleware_of_the_project(site, crawl, proxy):
    settings = SETS_PROXY | {"TEST_PROXY": proxy.address(LOGIN)}
    run = crawl(site=site.url, settings=settings)
    assert len(run.locs) == 2
    assert site.sent("Proxy-Authorization")["/a.xml"] == {None}


@pytest.mark.service
def test_a_site_with_a_login_behind_a_proxy_with_another(site, crawl, proxy):
    scheme, _, host = site.url.partition("://")
    run = crawl(site=f"{scheme}://me:secret@{host}", environment=through(proxy.address(LOGIN)))
    assert len(run.locs) == 2
    assert site.sent("Authorization")["/a.xml"] == {"Basic " + b64encode(b"me:secret").decode()}
    assert site.sent("Proxy-Authorization")["/a.xml"] == {None}


@pytest.mark.quick
@pytest.mark.service
def test_from_http_to_https_through_one_proxy(crawl, serve, proxy):
    secure = serve({"/s.xml": urlset("/1")}, tls=self_signed("127.0.0.1"))
    plain = serve({"/s.xml": moved(f"{secure.url}/s.xml")})
    settings = {"SITEMAP_HARVEST_PRIVATE": "True"}
    run = crawl(sitemap=f"{plain.url}/s.xml", environment=through(proxy.address(LOGIN)), settings=settings)
    assert run.locs == [f"{secure.url}/1"]


@pytest.mark.service
def test_without_its_password_the_proxy_is_reported_as_the_cause(site, crawl, proxy):
    run = crawl(site=site.url, environment=through(proxy.address()))
    row = run.row(f"{site.url}/robots.txt")
    assert (row["outcome"], row["reason"]) == ("blocked", "HTTP 407: a proxy requires a login")
    wrong = crawl(site=site.url, environment=through(proxy.address(f"{USER}:not-{PASSWORD}")))
    row = wrong.row(f"{site.url}/robots.txt")
    who = "a proxy" if site.url.startswith("https") else "the server"  # indistinguishable: Tinyproxy answers 401 then
    assert (row["outcome"], row["reason"]) == ("blocked", f"HTTP 401: {who} requires a login")
    assert PASSWORD not in run.log + wrong.log
    assert site.requests == []


@pytest.mark.service
@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"environment": {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}}, id="no_proxy"),
        pytest.param({"settings": {"HTTPPROXY_ENABLED": "False"}}, id="HTTPPROXY_ENABLED"),
    ],
)
def test_excluded_hosts_bypass_the_proxy(site, crawl, proxy, how):
    before = len(proxy.requests())
    environment = through(proxy.address(LOGIN)) | how.get("environment", {})
    assert len(crawl(site=site.url, environment=environment, settings=how.get("settings")).locs) == 2
    assert len(proxy.requests()) == before


@pytest.mark.service
def test_with_scrapys_http2_handler_against_an_http2_server(crawl, tmp_path):
    if find_spec("h2") is None:
        lacking("h2", "pip install 'scrapy[twisted-http2]'")
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "s.xml").write_text(urlset("https://site.test/1"))
    with serving_http2(tmp_path) as (address, log):
        scheme, _, host = address.partition("://")
        run = crawl(sitemap=f"{scheme}://me:secret@{host}/s.xml", settings={"DOWNLOAD_HANDLERS": H2})
    assert run.locs == ["https://site.test/1"]
    assert '"GET /s.xml HTTP/2' in log.read_text().replace("\\", "")
    assert run.row(f"{address}/s.xml")["outcome"] == "read"


@contextmanager
def serving_http2(folder):
    """Serve the files below *folder*/web by Twisted's own server; yield its address and its log."""
    (folder / "certificate.pem").write_bytes(self_signed_pem("127.0.0.1"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    listen = f"ssl:{port}:privateKey=certificate.pem:certKey=certificate.pem:interface=127.0.0.1"
    command = [sys.executable, "-m", "twisted", "web", "--listen", listen, "--path", "web"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_for(port, process)
        yield f"https://127.0.0.1:{port}", folder / "log"
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_SECONDS)


def test_over_tls_by_our_own_handler(crawl, serve):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/1")}, tls=self_signed("127.0.0.1"))
    run = crawl(site=site.url)
    assert run.locs == [f"{site.url}/1"]
    checked = crawl(site=site.url, settings={"DOWNLOAD_VERIFY_CERTIFICATES": "True"})
    assert checked.row(f"{site.url}/robots.txt")["cause"] == "tls"


class Impostor:
    """Listens in place of a proxy, and answers every connection with the same bytes; without any, it closes it."""

    def __init__(self, answer: bytes | None) -> None:
        self._answer = answer
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._kept: list[socket.socket] = []
        self.address = f"http://{LOGIN}@127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):  # it is closed
            while True:
                connection, _ = self._listening.accept()
                connection.recv(65536)
                if self._answer is None:
                    self._kept.append(connection)
                    continue
                connection.sendall(self._answer)
                connection.close()

    def close(self) -> None:
        self._listening.close()
        for connection in self._kept:
            connection.close()


def status(line: str) -> bytes:
    return f"HTTP/1.1 {line}\r\nContent-Length: 2\r\n\r\nno".encode()


@pytest.mark.parametrize(
    ("answer", "over_http", "over_https"),
    [
        pytest.param(
            status("407 Proxy Authentication Required"),
            ("blocked", "HTTP 407: a proxy requires a login"),
            ("blocked", "HTTP 407: a proxy requires a login"),
            id="requires-a-login",
        ),
        pytest.param(
            status("403 Forbidden"),
            ("blocked", "HTTP 403: the server refuses access"),
            ("failed", "the proxy cannot connect to the host: HTTP 403 (through the proxy {proxy})"),
            id="refuses",
        ),
        pytest.param(
            status("502 Bad Gateway"),
            ("failed", "HTTP 502: the server failed"),
            ("failed", "the proxy cannot connect to the host: HTTP 502 (through the proxy {proxy})"),
            id="cannot-connect",
        ),
        pytest.param(
            b"SSH-2.0\r\n\r\n",
            (
                "failed",
                f"{NO_HTTP}: ('wrong number of parts', b'SSH-2.0') (through the proxy {{proxy}})",
            ),
            ("failed", f"{NO_HTTP} (through the proxy {{proxy}})"),
            id="garbage",
        ),
        pytest.param(
            b"",
            ("failed", "the connection failed: Connection was closed cleanly (through the proxy {proxy})"),
            ("failed", "no response within the timeout (through the proxy {proxy})"),
            id="hangs-up",
        ),
        pytest.param(
            None,
            ("failed", "no response within the timeout (through the proxy {proxy})"),
            ("failed", "no response within the timeout (through the proxy {proxy})"),
            id="says-nothing",
        ),
    ],
)
def test_an_unusable_proxy_is_reported_without_its_password(crawl, answer, over_http, over_https):
    impostor = Impostor(answer)
    with ExitStack() as stack:
        stack.callback(impostor.close)
        urls = ["http://site.test/s.xml", "https://site.test/s.xml"]
        hanging = [url for url, (_, reason) in zip(urls, (over_http, over_https), strict=True) if "timeout" in reason]
        settings = {"LOG_LEVEL": "DEBUG", "ROBOTSTXT_OBEY": "False", "TEST_HANGING": ",".join(hanging)}
        run = crawl(sitemap=" ".join(urls), environment=through(impostor.address), settings=settings)
    if over_http[0] == "blocked":  # so of the two errors, only that of the tunnel is one to retry
        assert run.stats["retry/max_reached"] == 1
    shown = impostor.address.replace(f"{LOGIN}@", "")
    for url, (outcome, reason) in zip(urls, (over_http, over_https), strict=True):
        row = run.row(url)
        assert (row["outcome"], row["reason"]) == (outcome, reason.format(proxy=shown))
    assert PASSWORD not in run.log
    assert PASSWORD not in (run.folder / "ledger.jsonl").read_text()


@pytest.mark.parametrize(
    "how",
    [
        pytest.param({"environment": through(f"http://{LOGIN}")}, id="cut-before-the-host"),
        pytest.param({"settings": SETS_PROXY | {"TEST_PROXY": f"http://{USER}:{PASSWORD}"}}, id="of-the-project"),
    ],
)
def test_an_invalid_proxy_address_is_reported_without_its_password(crawl, how):
    run = crawl(site="http://a.example", **how)
    reason = "the port of the host or of a proxy is not a number"
    assert run.row("http://a.example/robots.txt")["reason"] == reason
    assert PASSWORD not in run.log
    assert "Traceback" not in run.log


def test_an_unreachable_proxy_is_reported(crawl):
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    run = crawl(sitemap="http://site.test/s.xml", environment=through(f"http://{LOGIN}@{address}"))
    reason = f"the host refuses the connection (through the proxy http://{address})"
    assert run.row("http://site.test/s.xml")["reason"] == reason


def test_a_proxy_that_itself_speaks_tls_is_not_used_for_https(crawl):
    run = crawl(sitemap="https://site.test/s.xml", environment=through(f"https://{LOGIN}@127.0.0.1:9"))
    reason = "Scrapy does not support HTTPS requests through an https:// proxy"
    assert run.row("https://site.test/s.xml")["reason"] == reason
