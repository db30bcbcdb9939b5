"""Count the requests to an object store of a first crawl, of a changed and of an unchanged one.

    python -m tests.benchmarks.object_requests [--sitemaps 3] [--urls 100] [--consumer] [--verbose]

Serves one site, a robots.txt, an index and sitemaps, and crawls it into a store in SeaweedFS, each time in a separate
process. Prints the number of requests of each kind. Object stores charge for PUT and LIST about twelve times as much as
for GET and HEAD, and nothing for DELETE. ``--verbose`` prints each request. The last crawl finds new URLs and is
compacted. All files are in a temporary folder. The benchmark ends without intervention.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from tests.services.object_store import BUCKET, object_store
from tests.site import Site, index, numbered, robots, urlset

if TYPE_CHECKING:
    from collections.abc import Iterator

STORE = f"s3://{BUCKET}/snapshots"
_CHILD = "HARVEST_COUNT_REQUESTS"  # names the file for the counts
_KINDS = ("PUT", "LIST", "GET", "HEAD", "DELETE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sitemaps", type=int, default=3, help="sitemaps of the site (3)")
    parser.add_argument("--urls", type=int, default=100, help="URLs of each (100)")
    parser.add_argument("--consumer", action="store_true", help="deliver the changes to a consumer")
    parser.add_argument("--verbose", action="store_true", help="print each request")
    options = parser.parse_args()
    names = [f"/s{number}.xml" for number in range(options.sitemaps)]
    with tempfile.TemporaryDirectory() as folder, _server(Path(folder)) as access:
        site = Site({"/robots.txt": robots("/index.xml"), "/index.xml": index(*names)})
        print(f"{'crawl':12}", *(f"{kind:>7}" for kind in _KINDS))
        with site:
            for number, crawl in enumerate(["first", "unchanged", "changed", *["changed"] * 5, "compacted"]):
                if crawl != "unchanged":
                    start = 1_000 * number
                    site.pages |= {name: urlset(*numbered(options.urls, start=start, prefix=name)) for name in names}
                requests = _crawl(site.url, Path(folder), access, consumer=options.consumer)
                counts = Counter(kind for kind, _ in requests)
                print(f"{crawl:12}", *(f"{counts[kind]:7}" for kind in _KINDS))
                if options.verbose:
                    print(*(f"    {kind:7}{key}" for kind, key in requests), sep="\n")


@contextmanager
def _server(folder: Path) -> Iterator[dict[str, str]]:
    (data := folder / "objects").mkdir()
    yield from object_store(data)


def _crawl(url: str, folder: Path, access: dict[str, str], *, consumer: bool) -> list[tuple[str, str]]:
    """Crawl the site at *url* in a process of its own; return its requests, each as a kind and a key."""
    counts = folder / "requests.json"
    given = ["-a", "emit=changes", *(["--consumer", "one"] if consumer else [])]
    command = [sys.executable, "-m", __spec__.name, "crawl", url, "--store", STORE, *given]
    ran = subprocess.run(
        [*command, "-O", f"{folder}/changes.jsonl", "-L", "ERROR"],
        env=os.environ | access | {_CHILD: str(counts)},
        check=False,
        capture_output=True,
        text=True,
    )
    if ran.returncode:
        raise SystemExit(ran.stderr)
    return [(kind, key) for kind, key in json.loads(counts.read_text())]


def _count(path: Path) -> None:
    """Run the command with the arguments of this process, and write its requests to the file at *path*."""
    from botocore.httpsession import URLLib3Session

    from sitemap_harvest.cli.main import main as command

    requests, real = [], URLLib3Session.send

    def send(session: URLLib3Session, request: object) -> object:
        parts = urlsplit(request.url)  # type: ignore[attr-defined]
        query = parse_qs(parts.query)
        is_list = "list-type" in query
        requests.append(("LIST" if is_list else request.method, query["prefix"][0] if is_list else parts.path))  # type: ignore[attr-defined]
        return real(session, request)

    URLLib3Session.send = send
    try:
        command()
    finally:
        path.write_text(json.dumps(requests))


if __name__ == "__main__":
    if _CHILD in os.environ:
        _count(Path(os.environ[_CHILD]))
    else:
        main()
