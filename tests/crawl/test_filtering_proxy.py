"""The proxy of the browser: its connections, and how much it forwards."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.exceptions import DownloadCancelledError

from sitemap_harvest.browser.proxy import FilteringProxy
from sitemap_harvest.discovery.candidate import NotFetched
from sitemap_harvest.network import AddressPolicy
from tests.server import Manner
from tests.site import Page, Site

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST = 100_000
_GREETING = b"\5\1\0"
_GET = b"GET /s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


def connect_to(host: str, port: int) -> bytes:
    return b"\5\1\0\3" + bytes([len(host)]) + host.encode() + port.to_bytes(2, "big")


def through(policy: AddressPolicy, *sent: bytes) -> tuple[bytes, FilteringProxy]:
    """Send *sent*, and return the received bytes and the proxy."""

    async def send() -> tuple[bytes, FilteringProxy]:
        proxy = FilteringProxy(policy, most_bytes=_MOST, seconds=5)
        host, _, port = (await proxy.open()).removeprefix("socks5://").partition(":")
        try:
            reader, writer = await asyncio.open_connection(host, int(port))
            for part in sent:
                writer.write(part)
            got = await asyncio.wait_for(reader.read(-1), 10)
            writer.close()
            return got, proxy
        finally:
            await proxy.close()

    return asyncio.run(send())


def named(*urls: str) -> AddressPolicy:
    policy = AddressPolicy()
    for url in urls:
        policy.name(url)
    return policy


def port_of(site: Site) -> int:
    return int(site.url.rpartition(":")[2])


@pytest.mark.quick
def test_a_connection_is_forwarded(serve: Callable[..., Site]) -> None:
    site = serve({"/s": "body"})
    got, _ = through(named(site.url), _GREETING, connect_to("127.0.0.1", port_of(site)), _GET)
    assert got.startswith(b"\5\0\5\0\0\1\0\0\0\0\0\0HTTP/1.1 200")
    assert got.endswith(b"body")


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        pytest.param(b"", b"", id="nothing"),
        pytest.param(b"GET http://127.0.0.1/s HTTP/1.1\r\n\r\n", b"", id="http"),
        pytest.param(b"\4\1\0\x50\x7f\0\0\1\0", b"", id="socks4"),
        pytest.param(_GREETING, b"\5\0", id="only-a-greeting"),
        pytest.param(_GREETING + b"\5\2\0\3\1a\0\x50", b"\5\0", id="bind"),
        pytest.param(_GREETING + b"\5\1\0\1\x7f\0\0\1\0\x50", b"\5\0", id="an-address"),
        pytest.param(_GREETING + b"\5\1\0\3\2\xff\xff\0\x50", b"\5\0", id="no-name"),
        pytest.param(_GREETING + connect_to("a b", 80), b"\5\0", id="no-host"),
        pytest.param(_GREETING + connect_to("", 80), b"\5\0", id="no-host-at-all"),
    ],
)
def test_invalid_requests_are_not_connected(sent: bytes, answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sitemap_harvest.browser.proxy._HANDSHAKE_SECONDS", 0.2)
    got, _ = through(AddressPolicy(), sent)
    assert got == answer


@pytest.mark.quick
@pytest.mark.parametrize(("host", "reason"), [("127.0.0.1", "loopback address 127.0.0.1"), ("localhost", "localhost")])
def test_private_addresses_are_never_connected_to(serve: Callable[..., Site], host: str, reason: str) -> None:
    site = serve({"/s": "secret"})
    got, proxy = through(AddressPolicy(), _GREETING, connect_to(host, port_of(site)), _GET)
    failure = proxy.failures[host, port_of(site)]
    assert (got, site.requests) == (b"\5\0", [])
    assert isinstance(failure, NotFetched)
    assert reason in failure.reason


@pytest.mark.quick
def test_each_connection_is_checked_by_its_own_lookup(
    serve: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second lookup of the name gives another address than the first (DNS rebinding)."""
    site = serve({"/s": "secret"})
    lookups = [["127.0.0.1", "93.184.215.14"], ["127.0.0.1"]]
    connected: list[Any] = []

    async def getaddrinfo(_: Any, host: str, port: int, **__: Any) -> list[Any]:
        return [(2, 1, 6, "", (address, port)) for address in lookups.pop(0)]

    async def connection(_: Any, address: Any, port: int) -> Any:
        connected.append(str(address))
        raise ConnectionRefusedError

    monkeypatch.setattr(FilteringProxy, "_connection", connection)
    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    policy = named("http://turned.test")

    async def both() -> list[Any]:
        proxy = FilteringProxy(policy, most_bytes=0, seconds=5)
        return [await proxy._connect("turned.test", 80) for _ in range(2)]

    first, second = asyncio.run(both())
    assert isinstance(first, ConnectionRefusedError)
    assert isinstance(second, NotFetched)
    assert second.reason.startswith("the host has the loopback address 127.0.0.1, but had a public one before")
    assert (connected, site.requests) == (["93.184.215.14"], [])


@pytest.mark.quick
def test_no_more_is_forwarded_than_a_document_may_have(serve: Callable[..., Site]) -> None:
    site = serve({"/s": Page("body", manner=Manner.ENDLESS)})
    got, proxy = through(named(site.url), _GREETING, connect_to("127.0.0.1", port_of(site)), _GET)
    assert len(got) < _MOST + 2 * 1024 * 1024
    assert isinstance(proxy.failures["127.0.0.1", port_of(site)], DownloadCancelledError)


@pytest.mark.quick
def test_the_reason_for_a_refused_connection_is_recorded(serve: Callable[..., Site]) -> None:
    site = serve()
    site.stop()
    _, proxy = through(named(site.url), _GREETING, connect_to("127.0.0.1", port_of(site)))
    assert isinstance(proxy.failures["127.0.0.1", port_of(site)], ConnectionRefusedError)
