"""The server: a proxy that answers for all hosts, so that they can have their own names and ports."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from dataclasses import replace
from email.utils import parsedate_to_datetime
from itertools import count
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from tests.certificates import self_signed
from tests.crawl.matrix.faults import HOME
from tests.histories.documents import Form
from tests.histories.failing import Failing, Reply
from tests.histories.world import base_of

if TYPE_CHECKING:
    from tests.histories.world import Frame, World

_HTML = ("Content-Type", "text/html")
_NOT_FOUND = Reply(404, (_HTML,), b"no such page")


class Server:
    """Answers for the sites of a world in the current crawl."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.failing: dict[str, Failing] = {}
        """The failures of the current crawl, by address."""
        self.requests = 0
        self.errors: list[Exception] = []
        """Errors of the server itself, as opposed to the crawls."""
        self._numbers = count()
        self._loop: asyncio.AbstractEventLoop
        self._stopped: asyncio.Event
        self._writers: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._is_up = threading.Event()
        self.port = 0

    @property
    def url(self) -> str:
        """The address of the proxy."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._is_up.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join()

    def reply(self, url: str, headers: dict[str, str]) -> Reply:
        """Return the response to a request of *url*."""
        frame, url = self.world.frames[-1], url.removesuffix("?again")
        parts = urlsplit(url)
        if frame.resolve(url) != url:
            return Reply(301, (("Location", frame.resolve(url)),))
        if parts.path in {"/", "/login"}:
            return Reply(200, (_HTML,), HOME)
        return self._of_a_document(url, headers)

    def _of_a_document(self, url: str, headers: dict[str, str]) -> Reply:
        frames, failing = self.world.frames, self.failing.get(url)
        shown = len(frames) - 1
        if failing is not None and failing.fault.versions:
            shown = max(0, shown - failing.fault.versions)
        body, validators = self._document(url, frames[shown], shown)
        if body is None:
            return _NOT_FOUND
        if failing is not None and not failing.fault.versions:
            found = failing.reply(body)
            if failing.fault.is_empty:  # with its own validators, nobody could detect that the body is wrong
                return found
            return replace(found, headers=(*found.headers, *validators.items()))
        if _is_known(validators, headers):
            return Reply(304, tuple(validators.items()))
        return Reply(200, tuple(validators.items()), body)

    def _document(self, url: str, frame: Frame, crawl: int) -> tuple[bytes | None, dict[str, str]]:
        document = frame.documents.get(url)
        if document is None:
            return None, {}
        lastmods = self.world.lastmods(url, frame, crawl) if document.form is Form.INDEX else {}
        body = document.body(lastmods)
        tag = "right" if document.tag == "date" and lastmods else document.tag  # the index changes with its children
        return body, replace(document, tag=tag).headers(body, next(self._numbers))

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._listen())

    async def _listen(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=512)
        self.port = server.sockets[0].getsockname()[1]
        self._is_up.set()
        async with server:
            await self._stopped.wait()
            for writer in list(self._writers):
                writer.transport.abort()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            await self._serve_all(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # crawlers may close connections or be killed
        except Exception as error:  # noqa: BLE001 - it ends the test
            self.errors.append(error)
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _serve_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        base = ""
        while head := await _head(reader):
            method, target, headers = head
            if method == "CONNECT":
                base = f"https://{target.removesuffix(':443')}"
                if not self._is_host(base):
                    writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
                    return
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                await writer.start_tls(self_signed())
                continue
            self.requests += 1
            url = base + target
            reply = self.reply(url, headers) if self._is_host(base_of(url)) else Reply(sent=0)
            if not await _send(writer, reply):
                await _end(reader, writer, reply.ending)
                return

    def _is_host(self, base: str) -> bool:
        return any(base in {site.root, site.base, *site.redirects} for site in self.world.sites)


async def _head(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str]] | None:
    if not (line := await reader.readline()):
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    headers = {}
    while (line := await reader.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return method, target, headers


async def _send(writer: asyncio.StreamWriter, reply: Reply) -> bool:
    """Send *reply*; return whether the connection stays open."""
    if reply.sent == 0:
        return False
    body = reply.body
    head = [f"HTTP/1.1 {reply.status} X", *(f"{name}: {value}" for name, value in reply.headers)]
    if reply.framing == "chunks":
        head.append("Transfer-Encoding: chunked")
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    elif reply.framing == "length" and reply.status not in {204, 304}:
        more = 1_000 if reply.sent == len(body) else 0
        head.append(f"Content-Length: {len(body) + more}")
    writer.write("\r\n".join([*head, "", ""]).encode("latin-1"))
    writer.write(body[: reply.sent])
    await writer.drain()
    return reply.sent is None and reply.framing != "close"


async def _end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ending: str) -> None:
    """Prepare the end of the connection."""
    if ending == "hang":
        await reader.read()  # until the crawler closes the connection
    elif ending == "reset":
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()


def _is_known(validators: dict[str, str], headers: dict[str, str]) -> bool:
    if tags := headers.get("if-none-match"):
        return validators.get("ETag") in [tag.strip() for tag in tags.split(",")]
    if (since := headers.get("if-modified-since")) and "Last-Modified" in validators:
        return parsedate_to_datetime(validators["Last-Modified"]) <= parsedate_to_datetime(since)
    return False
