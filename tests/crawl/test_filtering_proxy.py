"""The proxy through which the browser goes out: whom it lets through, where to, and how much."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest.browser.proxy import BodyLimitError, FilteringProxy
from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.network.address_policy import AddressPolicy
from tests.server import Manner
from tests.site import Page, Site

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST = 100_000


def through(
    policy: AddressPolicy, *asked: str, password: str | None = None, until: bytes | None = None
) -> tuple[bytes, FilteringProxy]:
    """Send *asked*, lines with ``{auth}`` where the password belongs, and return what comes, and the gate."""

    async def send() -> tuple[bytes, FilteringProxy]:
        gate = FilteringProxy(policy, most_bytes=_MOST, seconds=5)
        await gate.open()
        try:
            host, _, port = gate.proxy["server"].removeprefix("http://").partition(":")
            word = gate.proxy["password"] if password is None else password
            auth = "Proxy-Authorization: Basic " + b64encode(f"harvest:{word}".encode()).decode()
            reader, writer = await asyncio.open_connection(host, int(port))
            for part in asked:
                writer.write(part.replace("{auth}", auth).encode())
            got = await asyncio.wait_for(reader.read(-1) if until is None else reader.readuntil(until), 10)
            writer.close()
            return got, gate
        finally:
            await gate.close()

    return asyncio.run(send())


def named(*urls: str) -> AddressPolicy:
    policy = AddressPolicy()
    for url in urls:
        policy.name(url)
    return policy


def place(site: Site) -> str:
    return site.url.removeprefix("http://")


@pytest.mark.quick
def test_a_request_goes_through_and_its_connection_ends_with_it(serve: Callable[..., Site]) -> None:
    site = serve({"/s": Page("body", headers={"Connection": "keep-alive", "Keep-Alive": "timeout=99"})})
    asked = f"GET {site.url}/s HTTP/1.1\r\nHost: {place(site)}\r\n{{auth}}\r\n\r\n"
    got, _ = through(named(site.url), asked, until=b"body")  # for this server does not hang up
    head, _, body = got.partition(b"\r\n\r\n")
    assert body == b"body"
    assert head.lower().count(b"connection: close") == 1
    assert b"keep-alive" not in head.lower()


@pytest.mark.quick
def test_a_tunnel_goes_through(serve: Callable[..., Site]) -> None:
    site = serve({"/s": "body"})
    inner = "GET /s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    got, _ = through(named(site.url), f"CONNECT {place(site)} HTTP/1.1\r\n{{auth}}\r\n\r\n", inner)
    assert got.startswith(b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200")
    assert got.endswith(b"body")


@pytest.mark.quick
@pytest.mark.parametrize(
    "asked",
    [
        pytest.param("GET http://{place}/s HTTP/1.1\r\n\r\n", id="without-a-password"),
        pytest.param("GET http://{place}/s HTTP/1.1\r\n{auth}\r\n\r\n", id="with-a-wrong-one"),
        pytest.param("CONNECT {place} HTTP/1.1\r\n\r\n", id="a-tunnel-without"),
    ],
)
def test_nobody_else_is_let_through(serve: Callable[..., Site], asked: str) -> None:
    site = serve({"/s": "body"})
    got, _ = through(named(site.url), asked.replace("{place}", place(site)), password="guess")
    assert got.startswith(b"HTTP/1.1 407 ")
    assert site.requests == []


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param("", id="nothing"),
        pytest.param("\r\n\r\n", id="no-words"),
        pytest.param("GET /s HTTP/1.1\r\n{auth}\r\n\r\n", id="no-proxy-request"),
        pytest.param("GET\r\n\r\n", id="one-word"),
        pytest.param("GET ftp://a/ HTTP/1.1\r\n{auth}\r\n\r\n", id="another-scheme"),
        pytest.param("CONNECT a:99999 HTTP/1.1\r\n{auth}\r\n\r\n", id="no-port"),
        pytest.param("\0" * 100_000, id="endless-line"),
    ],
)
def test_what_is_no_request_gets_no_answer(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitemap_harvest.browser.proxy._HEAD_SECONDS", 0.2)
    got, _ = through(AddressPolicy(), asked)
    assert got == b""


@pytest.mark.quick
@pytest.mark.parametrize("method", ["GET http://{place}/s", "CONNECT {place}"])
def test_a_private_address_is_not_connected_to(serve: Callable[..., Site], method: str) -> None:
    site = serve({"/s": "secret"})
    got, gate = through(AddressPolicy(), f"{method.replace('{place}', place(site))} HTTP/1.1\r\n{{auth}}\r\n\r\n")
    failure = gate.failure("127.0.0.1", int(site.url.rpartition(":")[2]))
    assert (got, site.requests) == (b"", [])
    assert isinstance(failure, NotFetched)
    assert failure.reason.startswith("its host has the loopback address 127.0.0.1")


@pytest.mark.quick
def test_no_more_comes_than_a_document_may_have(serve: Callable[..., Site]) -> None:
    site = serve({"/s": Page("body", manner=Manner.ENDLESS)})
    got, gate = through(named(site.url), f"GET {site.url}/s HTTP/1.1\r\n{{auth}}\r\n\r\n")
    assert len(got) < _MOST + 2 * 1024 * 1024
    assert isinstance(gate.failure("127.0.0.1", int(site.url.rpartition(":")[2])), BodyLimitError)


@pytest.mark.quick
def test_why_there_is_no_way_is_told(serve: Callable[..., Site]) -> None:
    site = serve()
    port = int(site.url.rpartition(":")[2])
    site.stop()
    _, gate = through(named(site.url), f"GET {site.url}/s HTTP/1.1\r\n{{auth}}\r\n\r\n")
    assert isinstance(gate.failure("127.0.0.1", port), ConnectionRefusedError)
