"""Components of a project without knowledge of batches, as third parties write them; and some that accept batches."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import re
import signal
import sys
import time
import weakref
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow.compute as pc
from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.core.engine import ExecutionEngine
from scrapy.exceptions import DropItem, IgnoreRequest
from scrapy.exporters import BaseItemExporter
from scrapy.resolver import CachingThreadedResolver
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.address import IPv4Address
from twisted.internet.defer import fail, succeed
from twisted.internet.error import DNSLookupError
from twisted.internet.interfaces import IHostnameResolver
from zope.interface import implementer

from sitemap_harvest import network
from sitemap_harvest.databases.duckdb_file import DuckDbFile
from sitemap_harvest.formats.xml.fast import FastReader
from sitemap_harvest.frontier.host_queue import Frontier
from sitemap_harvest.frontier.site_queue import SiteQueue
from sitemap_harvest.integration.document_requests import IN_TURN
from sitemap_harvest.integration.items.xlsx_exporter import XlsxExporter
from sitemap_harvest.integration.middlewares import CrawlDelayMiddleware
from sitemap_harvest.integration.spider_attributes import harvest_of
from sitemap_harvest.model import SiteRecord
from sitemap_harvest.network import kind_of
from sitemap_harvest.page_visits.host_turns import HostTurns

if TYPE_CHECKING:
    from typing import IO

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred

    from sitemap_harvest import UrlBatch
    from sitemap_harvest.discovery.candidate import Candidate


def peak_memory() -> int:
    """Return the peak memory of this process in bytes. (The value of getrusage() starts with that of its parent.)"""
    (kilobytes,) = re.findall(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(kilobytes) * 1024


class StatsDump:
    """Writes the closing stats to the file that the environment names."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        dump = cls(crawler)
        atexit.register(dump.write)  # a crawl that ends at its start sends no closing signal
        return dump

    def write(self) -> None:
        costs = {"test/peak_memory_bytes": peak_memory(), "test/cpu_seconds": time.process_time()}
        stats = {**self._crawler.stats.get_stats(), **costs}
        target = Path(os.environ["STATS_FILE"])
        part = target.with_name(f"{target.name}.{os.getpid()}")
        part.write_text(json.dumps(stats, default=str))
        part.replace(target)  # two runs at the same time have the same file


class ShortTimeouts:
    """Gives requests a timeout of one second if their URL contains one of ``TEST_HANGING``, which never respond.

    With a short ``DOWNLOAD_TIMEOUT``, documents that do respond would fail on a busy machine.
    """

    def __init__(self, hanging: list[str]) -> None:
        self._hanging = hanging

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        timeouts = cls(crawler.settings.getlist("TEST_HANGING"))
        crawler.signals.connect(timeouts.shorten, signal=signals.request_reached_downloader)
        return timeouts

    def shorten(self, request: Request) -> None:
        if any(part in request.url for part in self._hanging):
            request.meta["download_timeout"] = 1


class LocalNames(CachingThreadedResolver):
    """Resolves names that end with ``.test`` to this machine; those that end with ``.gone.test`` do not exist.

    ``LOCAL_NAMES`` in the environment has others, as JSON: the address of a name, or ``null`` if the name no longer
    exists.
    """

    def getHostByName(self, name: str, timeout: Any = ()) -> Deferred[str]:  # noqa: N802 - Twisted's name
        if not name.endswith(".test"):
            return super().getHostByName(name, timeout)
        default = None if name.endswith(".gone.test") else "127.0.0.1"
        address = json.loads(os.environ.get("LOCAL_NAMES", "{}")).get(name, default)
        return fail(DNSLookupError(name)) if address is None else succeed(address)


class Plain:
    """A pipeline."""

    def process_item(self, item: Any) -> Any:
        ItemAdapter(item)["title"] = "plain"
        return item


class Ranked:
    """A pipeline that adds the field ``rank``, and makes ``priority`` text."""

    def process_item(self, item: Any) -> Any:
        item["rank"], item["priority"] = len(item["loc"]), "high"
        return item


class SomeAdded:
    """A pipeline that adds a field to the item with the path ``/3``."""

    def process_item(self, item: Any) -> Any:
        if ItemAdapter(item)["loc"].endswith("/3"):
            ItemAdapter(item)["added"] = "yes"
        return item


class Awaited:
    """An asynchronous pipeline."""

    async def process_item(self, item: Any) -> Any:
        ItemAdapter(item)["changefreq"] = "awaited"
        return item


class Slow:
    """A pipeline that waits, and counts its concurrent calls."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._waiting = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_item(self, item: Any) -> Any:
        self._waiting += 1
        self._crawler.stats.max_value("slow/together", self._waiting)
        position = getattr(item, "position", 0)  # a ledger row has none
        await asyncio.sleep(0.001 if position % 2 else 0.005)
        self._waiting -= 1
        if position == 7:
            raise DropItem("seven")
        if position == 8:
            raise ValueError("eight")
        return item


class NoHeartbeat:
    """Prevents Scrapy from checking every few seconds whether all is done."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = 3600.0
        return cls()


class FastPathFails:
    """An extension: the fast path fails on each sitemap."""

    def __init__(self) -> None:
        FastReader.read = None  # type: ignore[assignment, method-assign]


class EndsByTimer:
    """Ends the run some time after its first response, as ``CLOSESPIDER_TIMEOUT`` does after its start."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        part = cls()
        part._crawler = crawler
        crawler.signals.connect(part.begin, signal=signals.response_received)
        return part

    def begin(self) -> None:
        self._crawler.signals.disconnect(self.begin, signal=signals.response_received)
        call_later(0.3, self.end)

    def end(self) -> None:
        deferred_from_coro(self._crawler.engine.close_spider_async(reason="closespider_timer"))


class InterruptedAfter:
    """Ends the run, as Ctrl-C does, when the response with the path of the setting ``TEST_LAST`` has arrived."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        part = cls()
        part._crawler = crawler
        crawler.signals.connect(part.look, signal=signals.response_received)
        return part

    def look(self, response: Response) -> None:
        if response.url.endswith(self._crawler.settings["TEST_LAST"]):
            deferred_from_coro(self._crawler.engine.close_spider_async(reason="shutdown"))


class Considered:
    """Records in the stats how many documents were queued or refused at most between two turns of the reactor."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        part = cls()
        part._stats, part._count = crawler.stats, 0
        consider = SiteQueue.consider

        def counted(*arguments: Any, **named: Any) -> Any:
            part._count += 1
            return consider(*arguments, **named)

        SiteQueue.consider = counted
        crawler.signals.connect(part.take_turn, signals.spider_opened)
        return part

    def take_turn(self) -> None:
        self._stats.max_value("test/considered_in_a_turn", self._count)
        self._count = 0
        call_later(0.001, self.take_turn)


class EndsAfterFirstSite:
    """Ends the run as soon as a site is finished."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        part = cls()
        part._crawler = crawler
        crawler.signals.connect(part.end, signal=signals.item_scraped)
        return part

    def end(self, item: Any) -> None:
        if isinstance(item, SiteRecord):
            deferred_from_coro(self._crawler.engine.close_spider_async(reason="first_site"))


class Turns:
    """Records in the stats when each document and page was sent, by the clock of the run, and its host's delay."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        turns: list[tuple[str, float, float]] = []
        crawler.stats.set_value("test/turns", turns)
        take, may_go = Frontier.take, HostTurns.may_go

        def taken(frontier: Frontier, now: float) -> Candidate | None:
            if (candidate := take(frontier, now)) is not None:
                turns.append((candidate.url, now, frontier.host(candidate.url).delay))
            return candidate

        def goes(own: HostTurns, request: Request, *, sites: int) -> bool:
            if may := may_go(own, request, sites=sites):
                host = own._frontier.host(request.url)
                turns.append((request.url, host.ready_at - host.delay, host.delay))
            return may

        Frontier.take, HostTurns.may_go = taken, goes
        return cls()


class Waits:
    """Records in the stats which requests wait for the delay of their host, because no queue gave them their turn."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        waiting: list[str] = []
        crawler.stats.set_value("test/waits", waiting)
        process_request = CrawlDelayMiddleware.process_request

        async def waits(own: CrawlDelayMiddleware, request: Request) -> None:
            is_in_turn = request.meta.get(IN_TURN, False)
            if harvest_of(crawler).sites.frontier.host(request.url).delay and not is_in_turn:
                waiting.append(request.url)
            await process_request(own, request)

        CrawlDelayMiddleware.process_request = waits
        return cls()


class SlowAtTheEnd:
    """A pipeline that is slow for the last item."""

    async def process_item(self, item: Any) -> Any:
        await asyncio.sleep(0.3 if isinstance(item, SiteRecord) else 0)
        return item


class OldStyle:
    """A pipeline of the old API with a spider argument."""

    def process_item(self, item: Any, spider: Any) -> Any:
        ItemAdapter(item)["priority_text"] = spider.name
        return item


class ToDict:
    """A pipeline that changes the type of an item."""

    def process_item(self, item: Any) -> Any:
        return {"address": ItemAdapter(item)["loc"]}


class FirstToDict:
    """A pipeline that changes the type of the first item."""

    def process_item(self, item: Any) -> Any:
        return {"address": item["loc"]} if item["position"] == 1 else item


class DropOwn:
    """A pipeline that drops the items of callbacks."""

    def process_item(self, item: Any) -> Any:
        raise DropItem("own")


class DropEven:
    """A pipeline that drops every second page."""

    def process_item(self, item: Any) -> Any:
        if int(ItemAdapter(item)["loc"].rpartition("/p")[2]) % 2 == 0:
            raise DropItem("even")
        return item


class FailAtThree:
    """A pipeline with an error."""

    def process_item(self, item: Any) -> Any:
        if ItemAdapter(item)["loc"].endswith("/p3"):
            raise ValueError("three is too much")
        return item


class Fail:
    """A pipeline that fails on every item."""

    def process_item(self, item: Any) -> Any:
        return item["price"]


class Forgetful:
    """A pipeline that forgets to return every second item, and returns a number for the fifth."""

    def process_item(self, item: Any) -> Any:
        if item["position"] == 5:
            return 5
        if item["position"] % 2:
            return item
        return None


class ForgetfulOfBatches:
    """A pipeline that forgets to return a batch."""

    def process_batch(self, batch: UrlBatch) -> None:
        """Return nothing."""


class WrongType:
    """A pipeline that sets a field to a value that its column cannot hold."""

    def process_item(self, item: Any) -> Any:
        if ItemAdapter(item)["loc"].endswith("/p2"):
            ItemAdapter(item)["position"] = "second"
        return item


class Unwritable:
    """A pipeline that gives the second item a value that JSON cannot hold."""

    def process_item(self, item: Any) -> Any:
        if ItemAdapter(item)["position"] == 2:
            item["lastmod"], item["hash"] = "2025", b"ab"
        return item


class Retyped:
    """A pipeline that gives fields values of other types, and adds fields."""

    def process_item(self, item: Any) -> Any:
        if item["lastmod"] is not None:
            item["lastmod"] = item["lastmod"].isoformat()
        if item["position"] == 1:
            item["priority"] = "high"
        item["source"], item["rank"] = "x", item["position"]
        return item


class OnlyOdd:
    """A pipeline that accepts only batches."""

    def process_batch(self, batch: UrlBatch) -> UrlBatch:
        return batch.filter(pc.match_substring_regex(batch["loc"], r"[13579]$"))


class NoRows:
    """A pipeline that removes all rows."""

    def process_batch(self, batch: UrlBatch) -> UrlBatch:
        return batch.slice(0, 0)


class DropBatch:
    """A pipeline that drops whole batches."""

    def process_batch(self, batch: UrlBatch) -> UrlBatch:
        raise DropItem("none of them")


class AddressExporter(BaseItemExporter):
    """An exporter that has only export_item."""

    def __init__(self, file: Any, **options: Any) -> None:
        super().__init__(dont_fail=True, **options)
        self._file = file

    def export_item(self, item: Any) -> None:
        self._file.write(f"{type(item).__name__} {item.loc}\n".encode())


class EndlessExporter(AddressExporter):
    """An exporter that cannot write the end of its file."""

    def finish_exporting(self) -> None:
        raise ValueError("no end")


class Listener:
    """An extension that receives every item."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        listener = cls(crawler)
        crawler.signals.connect(listener.heard, signal=signals.item_scraped)
        return listener

    def heard(self, item: Any) -> None:
        self._crawler.stats.inc_value(f"heard/{type(item).__name__}")


class BatchListener(Listener):
    """One that accepts batches."""

    accepts_batches = True


class Odd:
    """A feed's filter."""

    def __init__(self, feed_options: Any) -> None:
        pass

    def accepts(self, item: Any) -> bool:
        return hasattr(item, "loc") and bool(int(item.loc.rpartition("/p")[2]) % 2)


class Nothing(Odd):
    """A filter that accepts nothing."""

    def accepts(self, item: Any) -> bool:
        return False


class FailsAtOnce:
    """A spider middleware that raises before the first item; only for documents that end in ``bad.xml``."""

    async def process_spider_output(self, response: Any, result: Any) -> Any:
        if response.url.endswith("bad.xml"):
            raise ValueError("not this one")
        async for item in result:
            yield item


class FailsAtFirst(FailsAtOnce):
    """A spider middleware that raises at the first item."""

    async def process_spider_output(self, response: Any, result: Any) -> Any:
        async for item in result:
            if response.url.endswith("bad.xml"):
                raise ValueError("not this one")
            yield item


class LooksAway(FailsAtOnce):
    """A spider middleware that drops the items of some documents."""

    async def process_spider_output(self, response: Any, result: Any) -> Any:
        if response.url.endswith("bad.xml"):
            return
        async for item in result:
            yield item


class RefusesRobots:
    """A downloader middleware that fails on the response for a robots.txt."""

    def process_response(self, request: Any, response: Any) -> Any:
        if request.url.endswith("/robots.txt"):
            raise ValueError("no rules, please")
        return response


class RequestsRobotsAgain:
    """A downloader middleware that requests each robots.txt a second time, under the same address."""

    def process_response(self, request: Any, response: Any) -> Any:
        if request.url.endswith("/robots.txt") and not request.meta.get("again"):
            return request.replace(meta={**request.meta, "again": True}, dont_filter=True)
        return response


class Watches:
    """A spider middleware that receives every item."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_spider_output(self, response: Any, result: Any) -> Any:
        async for item in result:
            self._crawler.stats.inc_value(f"seen/{type(item).__name__}")
            yield item


class WatchesBatches(Watches):
    """A spider middleware that accepts batches."""

    accepts_batches = True


class ListensLate(Listener):
    """An extension that connects to the signal at the first item."""

    accepts_batches = True

    def heard(self, item: Any) -> None:
        super().heard(item)
        if not hasattr(self, "listener"):
            self.listener = Listener.from_crawler(self._crawler)


@implementer(IHostnameResolver)
class Names:
    """A resolver for the hosts of the setting TEST_HOSTS: each lookup takes the next of a host's lists of addresses.

    127.0.0.3 plays a public address here: a test has no other.
    """

    def __init__(self, hosts: dict[str, list[list[str]]], reactor: Any) -> None:
        self._hosts, self._reactor = hosts, reactor
        network.kind_of = lambda address: None if str(address) == "127.0.0.3" else kind_of(address)

    @classmethod
    def from_crawler(cls, crawler: Crawler, reactor: Any) -> Self:
        return cls(json.loads(crawler.settings["TEST_HOSTS"]), reactor)

    def install_on_reactor(self) -> None:
        self._before = self._reactor.installNameResolver(self)

    def resolveHostName(self, receiver: Any, name: str, portNumber: int = 0, *rest: Any) -> Any:  # noqa: N802, N803
        if name not in self._hosts:
            return self._before.resolveHostName(receiver, name, portNumber, *rest)
        found = self._hosts[name]
        receiver.resolutionBegan(None)
        for address in found.pop(0) if len(found) > 1 else found[0]:
            receiver.addressResolved(IPv4Address("TCP", address, portNumber))
        receiver.resolutionComplete()
        return None


class ThroughProxy:
    """A downloader middleware that sends all requests to the proxy of the setting TEST_PROXY."""

    def __init__(self, proxy: str) -> None:
        self._proxy = proxy

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings["TEST_PROXY"])

    def process_request(self, request: Any) -> None:
        request.meta["proxy"] = self._proxy


class LeadsAway:
    """A downloader middleware that requests another URL, without the data of the original request."""

    def process_request(self, request: Request) -> Request | None:
        return Request(request.url.replace("lost", "found")) if "lost" in request.url else None


class FailsToLoad:
    """An extension that lets each database fail with an error of the driver's own."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        def load(self: DuckDbFile, tables: object, **_: object) -> int:
            raise KeyError("unexpected")

        DuckDbFile.load = load  # type: ignore[method-assign]  # in the process of the crawl
        return cls()


class CountsBodies:
    """A downloader middleware that counts the large responses that are in memory, in the stat ``test/most_bodies``."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats
        self._bodies = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        if len(response.body) > 100_000:
            self._bodies += 1
            self._stats.max_value("test/most_bodies", self._bodies)
            weakref.finalize(response, self._end)
        return response

    def _end(self) -> None:
        self._bodies -= 1


class TakesTheCallback:
    """A downloader middleware that gives the response to another callback."""

    def process_request(self, request: Request) -> Request | None:
        is_new = "lost" in request.url and "taken" not in request.meta
        return request.replace(callback=_forget, meta={**request.meta, "taken": True}) if is_new else None


class DropsSilently:
    """A downloader middleware whose new request the duplicate filter drops."""

    def process_request(self, request: Request) -> Request | None:
        times = request.meta.get("times", 0)
        meta = {**request.meta, "times": times + 1}
        return request.replace(dont_filter=False, meta=meta) if "lost" in request.url and times < 2 else None


def _forget(response: Any, **_: Any) -> None:
    """Do nothing."""


class KilledAt:
    """An extension that kills the process at the signal that the setting ``KILLED_AT`` names."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls()
        crawler.signals.connect(extension.now, signal=getattr(signals, crawler.settings["KILLED_AT"]))
        return extension

    def now(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class KilledByAnItem:
    """A pipeline that kills the process at its first item."""

    def process_item(self, item: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)
        return item


class FailAtNow:
    """A pipeline with an error."""

    def process_item(self, item: Any) -> Any:
        if "/now-and-then" in str(item):
            raise ValueError("not now")
        return item


class FailAtTheEnd:
    """A pipeline that cannot store its collected items."""

    def process_item(self, item: Any) -> Any:
        return item

    def close_spider(self) -> None:
        raise ValueError("no such table")


class NoStorage:
    """A feed storage that fails on every write."""

    def __init__(self, uri: str, *, feed_options: dict[str, Any] | None = None) -> None:
        self._uri = uri

    def open(self, spider: Spider) -> IO[bytes]:
        return BytesIO()

    def store(self, file: IO[bytes]) -> None:
        raise OSError("no such bucket")


class DropHead:
    """A downloader middleware that drops HEAD requests."""

    def process_request(self, request: Request) -> None:
        if request.method == "HEAD":
            raise IgnoreRequest


class KillsAtWrite:
    """A file that kills the process in the middle of its content."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        written = self._file.write(data[: len(data) // 2])
        self._file.flush()
        if self._file.tell() > 2000:
            os.kill(os.getpid(), signal.SIGKILL)
        return written + self._file.write(data[written:])

    def flush(self) -> None:
        self._file.flush()


class KilledXlsxExporter(XlsxExporter):
    """An exporter that is killed while it writes its file."""

    def __init__(self, file: IO[bytes], **options: Any) -> None:
        super().__init__(KillsAtWrite(file), **options)  # type: ignore[arg-type]


class NoNetwork:
    """Ends the process with an error for every attempt to resolve a name or to connect."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        sys.addaudithook(cls._check)
        return cls()

    @staticmethod
    def _check(event: str, arguments: tuple[Any, ...]) -> None:
        if event in {"socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"}:
            print("no network:", event, arguments, file=sys.stderr, flush=True)  # noqa: T201 - the log may be off
            os._exit(99)
