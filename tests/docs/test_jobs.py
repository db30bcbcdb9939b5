"""The how-to for jobs: its Compose file is valid, and its table says when which failure is tried again."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from sitemap_harvest.jobs.retries import BACKOFFS
from tests.docs.howtos import Does, read_page

TEXT = (Path(__file__).parents[2] / "docs" / "howto" / "crawl-on-many-machines.md").read_text("utf-8")


def test_the_compose_file_is_valid(tmp_path):
    (body,) = (step.body for step in read_page(TEXT).steps if step.does is Does.FILE and step.value == "compose.yaml")
    (tmp_path / "compose.yaml").write_text(body)
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml"]
    run = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


def test_the_table_has_each_failure_with_its_retries():
    rows = dict(re.findall(r"^\| `([\w-]+)` \| .* \| (.*) \|$", TEXT, re.MULTILINE))
    assert rows == {str(kind): _retries(backoff) for kind, backoff in BACKOFFS.items()}


def _retries(backoff):
    """Return the retries as the table has them."""
    waits = [_rounded(backoff.after(number, spread=0)) for number in range(1, backoff.most + 1)]
    if not waits:
        return "never"
    *others, last = waits
    words = f"{', '.join(others)} and {last}" if others else last
    return f"{'once' if len(waits) == 1 else f'{len(waits)} times'}: after {words}"


def _rounded(wait):
    """Return the largest unit of *wait*, rounded."""
    seconds = wait.total_seconds()
    unit, name = next(
        (size, name) for size, name in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")) if seconds >= size
    )
    return f"{seconds / unit:.0f} {name}"
