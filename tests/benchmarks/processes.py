"""Crawls in a process of their own, and the resources that they use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import resource

ROOT = Path(__file__).parents[2]


def used_by(command: list[str]) -> resource.struct_rusage:
    """Run *command*, a crawl, and return what it used. A failure ends the benchmark."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    with process.stderr:
        log = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status or "ERROR" in log:
        sys.exit(f"{' '.join(command)} failed:\n{log[-3000:]}")
    return usage
