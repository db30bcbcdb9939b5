"""Thousands of hosts on this machine, each with an address of its own, served by one process at little cost.

>>> with Network(2_000, hanging=5, refusing=5) as network:
...     path.write_text("\\n".join(host.url for host in network.hosts))
...     ...  # crawl them
>>> network.differences(ledger, locs)
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
_PATIENCE_SECONDS = 20  # to begin and to end, on a busy machine


class Network:
    """Serves hosts as long as the block lasts, at most *seconds*; what a host is follows from its number alone.

    *hanging* and *refusing* are the shares of such hosts, in whole per cent.
    *beyond*: some redirect to a host that is not in the list, which a crawl
    meets only so.
    """

    def __init__(
        self, count: int, *, hanging: int = 5, refusing: int = 5, beyond: bool = False, seconds: int = 900
    ) -> None:
        self._shape = {"count": count, "hanging": hanging, "refusing": refusing, "beyond": beyond}
        self._seconds = seconds
        self.hosts: tuple[Host, ...] = ()
        """Those that a crawl is told of."""
        self.requests: list[tuple[float, str]] = []
        """After the block: the addresses asked for, each with its time in seconds of the monotonic clock."""

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.network.serving", json.dumps(self._shape), str(self._seconds)]
        self._process = subprocess.Popen(
            command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )  # it says its port when all hosts are there, ends when its input does, and then tells what was asked for
        assert self._process.stdout is not None
        port = self._process.stdout.readline()
        assert port, "the network has not begun"
        self.hosts = tuple(host for host in hosts_of(port=int(port), **self._shape) if host.is_listed)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            told, _ = self._process.communicate(timeout=_PATIENCE_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
        self.requests = [(moment, url) for moment, url in json.loads(told)]

    def of(self, *sorts: Sort) -> list[Host]:
        """Return the hosts of these sorts."""
        return [host for host in self.hosts if host.sort in sorts]

    def differences(self, ledger: Iterable[dict[str, Any]], locs: Iterable[str]) -> dict[str, list[str]]:
        """Return, by the address of a host, what a crawl has found there that is not as expected."""
        fates: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for row in ledger:
            fates[row["root"]][row["url"]] = row["outcome"]
        counted = Counter(locs)
        found = {host.url: [*_wrong_fates(host.expected, fates.pop(host.url, {})),
                            *_wrong_locs(host.expected, counted)] for host in self.hosts}  # fmt: skip
        found["nowhere"] = [f"{url}: no such host" for url in fates] + [f"{loc}: no such URL" for loc in counted]
        return {url: wrong for url, wrong in found.items() if wrong}


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
