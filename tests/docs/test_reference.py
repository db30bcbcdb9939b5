"""The reference is Markdown that opens anywhere; what comes from the code is as the code is now, and links lead on."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from sitemap_harvest import AuditSummary, Change, ChangeSummary, Finding, SitemapRecord, SiteRecord, UrlEntry
from sitemap_harvest.audit import RULES
from sitemap_harvest.model import CATALOGUE

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@cache
def generator():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def anchors(page):
    """Return the anchors that GitHub derives from the headings of *page*."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    found = []
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.append(f"{slug}-{found.count(slug)}" if slug in found else slug)
    return set(found)


def section(page, name):
    """Return the text below the heading *name* of *page*, in one line."""
    text = (REFERENCE / page).read_text("utf-8")
    found = re.search(rf"^#+ `{re.escape(name)}`\n(.*?)(?=^#+ |\Z)", text, re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split())


@pytest.mark.parametrize("page", sorted(REFERENCE.glob("*.md")), ids=lambda page: page.stem)
def test_generated_parts_are_as_the_code_is_now(page):
    text = page.read_text("utf-8")
    assert generator().page(text) == text, "the code has changed: run `python docs/generate.py`"
    assert "eval-rst" not in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_a_page_and_a_heading_as_github_names_it(page):
    broken = []
    for link in _LINK.findall(_CODE.sub("`code`", page.read_text("utf-8"))):
        path, _, anchor = unquote(link).partition("#")
        if "://" in link:
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize(("page", "names"), [("problems.md", CATALOGUE), ("audit-rules.md", RULES)])
def test_a_table_lists_every_code_and_links_to_its_section(page, names):
    text = (REFERENCE / page).read_text("utf-8")
    rows = dict(re.findall(r"^\| \[`([^`]+)`\]\(#([^)]+)\) \|", text, re.MULTILINE))
    assert list(rows) == list(names)
    assert set(rows.values()) <= anchors(REFERENCE / page)


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_problem_has_a_complete_section(code):
    known, text = CATALOGUE[code], section("problems.md", code)
    words = (known.meaning, known.severity, known.cause, known.consequence, known.fix)
    assert [word for word in words if word not in text] == []
    assert ("Some may be missing" in text) == known.loses


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        pytest.param(r"[Oo]ver\s+(\d+)00\s+\[?rules", len(RULES.keys() | CATALOGUE.keys()), id="rules"),
        pytest.param(r"[Oo]ver\s+(\d+)00\s+stable\s+codes", len(CATALOGUE), id="codes"),
    ],
)
def test_the_numbers_of_rules_and_codes_are_true(pattern, count):
    texts = [(ROOT / name).read_text("utf-8") for name in ("README.md", "docs/changelog.md")]
    found = [int(hundreds) for text in texts for hundreds in re.findall(pattern, text)]
    assert set(found) == {count // 100}


@pytest.mark.parametrize("record", [UrlEntry, SitemapRecord, SiteRecord, Change, ChangeSummary, Finding, AuditSummary])
def test_every_field_is_in_the_reference(record):
    text = section("items.md", record.__name__)
    assert [field.name for field in dataclasses.fields(record) if f"| `{field.name}` |" not in text] == []


def test_a_field_has_its_type_and_its_meaning():
    assert "| `position` | `int` | Position of the entry in the document, from 1." in section("items.md", "UrlEntry")
    assert r"| `priority` | `float \| None` | 0.0 to 1.0. `None` if absent or unreadable" in section(
        "items.md", "UrlEntry"
    )
