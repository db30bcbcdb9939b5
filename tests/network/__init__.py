"""Thousands of hosts on this machine, each with its own address, served by one process at little cost.

>>> with Network(2_000, hanging=5, refusing=5) as network:
...     path.write_text("\\n".join(host.url for host in network.hosts))
...     ...  # crawl them
>>> network.differences(sites=..., ledger=..., locs=...)
{}
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tests.network.hosts import Expected, Host, Sort, hosts_of

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Expected", "Host", "Network", "Sort"]

_ROOT = Path(__file__).parents[2]
_PATIENCE_SECONDS = 120  # to start and stop on a busy machine


class Network:
    """Serves hosts while the block runs, at most *seconds*; the properties of a host follow from its number alone.
    *hanging* and *refusing* are the shares of such hosts, in whole per cent. *beyond*: some redirect to a host that is
    not in the list, which a crawl reaches only that way.
    """

    def __init__(
        self, count: int, *, hanging: int = 5, refusing: int = 5, beyond: bool = False, seconds: int = 900
    ) -> None:
        self._shape = {"count": count, "hanging": hanging, "refusing": refusing, "beyond": beyond}
        self._seconds = seconds
        self.hosts: tuple[Host, ...] = ()
        """The targets of a crawl."""
        self.requests: list[tuple[float, str]] = []
        """After the block: the requested addresses, each with its time in seconds of the monotonic clock."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.network.serving", json.dumps(self._shape), str(self._seconds)]
        self._process = subprocess.Popen(
            command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )  # it prints its port when all hosts are ready, ends with its input, and then prints the requests
        assert self._process.stdout is not None
        port = self._process.stdout.readline()
        assert port, "the network has not begun"
        self.hosts = tuple(host for host in hosts_of(port=int(port), **self._shape) if host.is_listed)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            output, _ = self._process.communicate(timeout=_PATIENCE_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
        self.requests = [(moment, url) for moment, url in json.loads(output)]

    def of(self, *sorts: Sort) -> list[Host]:
        """Return the hosts of these sorts."""
        return [host for host in self.hosts if host.sort in sorts]

    def differences(
        self, *, sites: Iterable[dict[str, Any]], ledger: Iterable[dict[str, Any]], locs: Iterable[str]
    ) -> dict[str, list[str]]:
        """Return the differences between the results of a crawl and the expected ones, by the address of a host."""
        results = {row["root"]: (row["result"], row["cause"]) for row in sites}
        fates: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for row in ledger:
            fates[row["root"]][row["url"]] = row["outcome"]
        counted = Counter(locs)
        wrong = {}
        for host in self.hosts:
            wrong[host.url] = [
                *_wrong_result(host.expected, results.pop(host.url, None)),
                *_wrong_fates(host.expected, fates.pop(host.url, {})),
                *_wrong_locs(host.expected, counted),
            ]
        wrong["nowhere"] = [f"{url}: nobody has requested it" for url in (*results, *fates, *counted)]
        return {url: words for url, words in wrong.items() if words}


def _wrong_result(expected: Expected, found: tuple[str, str | None] | None) -> Iterable[str]:
    if found is None or (expected.result is not None and found != (expected.result, expected.cause)):
        yield f"{found}, not {(expected.result, expected.cause)}"


def _wrong_fates(expected: Expected, fates: dict[str, str]) -> Iterable[str]:
    for url, outcome in expected.outcomes.items():
        if (found := fates.pop(url, "not met")) != outcome:
            yield f"{url}: {found}, not {outcome}"
    for url, outcome in fates.items():
        if outcome not in expected.others:
            yield f"{url}: {outcome}, not {' or '.join(sorted(expected.others))}"


def _wrong_locs(expected: Expected, counted: Counter[str]) -> Iterable[str]:
    for loc in expected.locs:
        if (times := counted.pop(loc, 0)) != 1:
            yield f"{loc}: found {times} times"
