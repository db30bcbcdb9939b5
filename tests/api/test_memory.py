"""The memory of the caller, which is that of its own objects alone."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.api.processes import linux
from tests.site import urlset

URLS, DOCUMENTS = 1_000_000, 25
SCRIPT = """
import json, re, sys
from pathlib import Path
from sitemap_harvest import harvest

def memory(name="RssAnon"):
    return int(re.search(rf"^{name}:\\s*(\\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)[1]) // 1024

def read(result):
    return sum(len(batch) for batch in result.urls.batches()), sum(1 for _ in result.urls)

read(harvest("https://a.example", root="small"))
before = memory(), memory("VmHWM")
result = harvest("https://a.example", root="large")
after = memory(), memory("VmHWM")
counts = read(result)
print(json.dumps({
    "counts": counts,
    "harvested": after[0] - before[0],
    "most": after[1] - before[1],
    "read": memory() - before[0],
}))
"""


@linux
def test_a_million_urls_take_no_memory_of_the_caller(tmp_path, monkeypatch):
    for name, documents in (("small", 1), ("large", DOCUMENTS)):
        folder = tmp_path / name
        folder.mkdir()
        lines = "".join(f"Sitemap: https://a.example/{number}.xml\n" for number in range(documents))
        (folder / "robots.txt").write_text(lines)
        for number in range(documents):
            paths = (f"https://a.example/{number}/page-{page}" for page in range(URLS // DOCUMENTS))
            (folder / f"{number}.xml").write_text(urlset(*paths))
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    run = subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, check=True, capture_output=True, text=True)
    found = json.loads(run.stdout)
    assert found["counts"] == [URLS, URLS]
    assert found["harvested"] < 5, found  # MB; the URLs have 28 MB of text
    assert found["most"] < 5, found
    assert found["read"] < 30, found
    assert list((tmp_path / "temporary").iterdir()) == []
