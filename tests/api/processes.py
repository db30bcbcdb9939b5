"""The processes of runs, as Linux shows them in ``/proc``."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the process of the run in /proc")


def process_of_run(parent: int) -> int:
    """Return the id of the only process of a run that *parent* has started."""
    (found,) = (
        int(child)
        for thread in Path(f"/proc/{parent}/task").iterdir()
        for child in (thread / "children").read_text().split()
        if b"sitemap_harvest.cli.harvest_process" in Path(f"/proc/{child}/cmdline").read_bytes()
    )
    return found


def has_open(pid: int, file: Path) -> bool:
    """Whether the process has the pipe open, as named in /proc."""
    found = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found.add(descriptor.readlink())
    return file in found


def is_running(pid: int) -> bool:
    """Whether the process still does something: one that nobody waited for remains as a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
