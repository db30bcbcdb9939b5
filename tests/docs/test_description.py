"""What package indexes show of the package: the README without what needs a checkout, and metadata."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_description_has_no_link_or_picture_of_the_checkout():
    command = [sys.executable, "-m", "hatch_fancy_pypi_readme"]
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert set(re.findall(r"\]\(([^)]*)\)", text)) == {"https://scrapy.org"}
    assert "<!--" not in text
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    assert headings == [
        "sitemap_harvest", "Install", "Five things the alternatives do not do", "Comparison", "Use it", "Documentation"
    ]  # fmt: skip
