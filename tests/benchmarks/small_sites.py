"""Measure what a store costs when many small sites have not changed, relative to a run without a store.

    python -m tests.benchmarks.small_sites [--sites 200] [--urls 20] [--rounds 3]

Serves each site on a loopback address of its own: a robots.txt and a sitemap, with validators and without (then only
the digest shows that a document is unchanged). Crawls them without a store, then twice into a new store, each time in a
separate process. Prints the processor time of each run, and the ratios to the run without a store. Quote the ratios of
one run; seconds depend on the machine. ``--profile FILE`` writes where the time of the last run goes, for ``python -m
pstats FILE``. All files are in a temporary folder. The benchmark ends without intervention.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.benchmarks.processes import used_by

_LONG_AGO = 1_700_000_000
_FIRST_HOST = 1  # after 127.0.0.1, which may have real services


class Sites(ThreadingHTTPServer):
    """Serves the same documents on every loopback address."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, *, urls: int, has_validators: bool) -> None:
        super().__init__(("0.0.0.0", 0), _Handler)
        self.urls, self.has_validators = urls, has_validators

    def hosts(self, count: int) -> list[str]:
        """Return the URLs of *count* sites."""
        numbers = range(_FIRST_HOST, _FIRST_HOST + count)
        return [f"http://127.0.{number // 250}.{number % 250 + 1}:{self.server_port}" for number in numbers]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Sites

    def do_GET(self) -> None:
        base = f"http://{self.headers['Host']}"
        if self.path == "/robots.txt":
            body = f"Sitemap: {base}/sitemap.xml\n"
        elif self.path == "/sitemap.xml":
            urls = "".join(f"<url><loc>{base}/{number}</loc></url>\n" for number in range(self.server.urls))
            body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
        else:
            return self._send(404, b"")
        if self.server.has_validators and self.headers["If-Modified-Since"]:
            return self._send(304, b"")
        return self._send(200, body.encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if self.server.has_validators and status != 404:
            self.send_header("Last-Modified", formatdate(_LONG_AGO, usegmt=True))
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", type=int, default=200, help="sites (200)")
    parser.add_argument("--urls", type=int, default=20, help="URLs of each (20)")
    parser.add_argument("--rounds", type=int, default=3, help="stores (3)")
    parser.add_argument("--profile", metavar="FILE", help="write a profile of the last run there")
    options = parser.parse_args()
    for has_validators in (True, False):
        words = "with validators" if has_validators else "with digests only"
        with tempfile.TemporaryDirectory() as name, Sites(urls=options.urls, has_validators=has_validators) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            sites = Path(name, "sites.txt")
            sites.write_text("\n".join(server.hosts(options.sites)))
            found = []
            for number in range(options.rounds):
                store = Path(name, f"store-{number}")
                profile = options.profile if number == options.rounds - 1 else None
                found.append((run(sites), run(sites, store), run(sites, store, profile)))
                plain, first, second = found[-1]
                print(
                    f"{words}: {plain:.2f} s without a store, "
                    f"{first:.2f} s into a new store ({first / plain:.2f} times), "
                    f"{second:.2f} s unchanged ({second / plain:.2f} times)",
                    flush=True,
                )
            median = statistics.median(second / plain for plain, _, second in found)
            print(f"{words}: median of the unchanged run {median:.2f} times the run without a store")
            server.shutdown()


def run(sites: Path, store: Path | None = None, profile: str | None = None) -> float:
    """Crawl *sites*, into *store* if there is one, and return the processor time in seconds."""
    profiled = ["-m", "cProfile", "-o", profile] if profile else []
    stored = ["-a", f"store={store}"] if store else []
    command = [sys.executable, *profiled, "-m", "scrapy", "crawl", "sitemap", "-a", f"sites={sites}", *stored]
    outputs = ["-O", str(sites.with_name("urls.jsonl"))]
    usage = used_by([*command, *outputs])
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
