"""The catalogue lists exactly the problem codes that the code uses."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

import sitemap_harvest
from sitemap_harvest.formats.problem_log import LOSSY
from sitemap_harvest.model import CATALOGUE, Problem, ProblemType, Severity

PACKAGE = Path(sitemap_harvest.__file__).parent
_CODE = re.compile(r"[a-z]+/[a-z0-9-]+")
_PREFIXES = {code.partition("/")[0] for code in CATALOGUE}
_SENTENCES = ("meaning", "cause", "consequence", "fix")
_NO_CODES = {"text/html", "text/plain"}  # media types


def used_codes() -> set[str]:
    """Return every text in the package that is a code, except the catalogue's own."""
    texts = {
        node.value
        for module in PACKAGE.rglob("*.py")
        if module.name != "problem.py"
        and module.relative_to(PACKAGE).parts[0] != "audit"  # rules have ids of their own
        for node in ast.walk(ast.parse(module.read_bytes()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {text for text in texts if _CODE.fullmatch(text) and text.partition("/")[0] in _PREFIXES} - _NO_CODES


def test_the_catalogue_lists_exactly_the_codes_in_use() -> None:
    assert used_codes() == set(CATALOGUE)


def test_codes_are_in_order() -> None:
    assert list(CATALOGUE) == sorted(CATALOGUE)


@pytest.mark.parametrize("code", CATALOGUE)
def test_every_code_is_explained_in_whole_sentences(code: str) -> None:
    entry = CATALOGUE[code]
    assert _CODE.fullmatch(code)
    for name in _SENTENCES:
        text = getattr(entry, name)
        assert text == text.strip()
        assert text[:1].isupper()
        assert text.endswith(".")
        assert len(text) <= 130, "one line says enough"
    assert len({getattr(entry, name) for name in _SENTENCES}) == len(_SENTENCES)


def test_problems_that_lose_entries_are_errors() -> None:
    assert {code for code, entry in CATALOGUE.items() if entry.loses} == LOSSY
    assert {CATALOGUE[code].severity for code in LOSSY} == {Severity.ERROR}


def test_the_worst_severity_comes_first() -> None:
    assert sorted(Severity, key=lambda severity: severity.rank) == ["error", "warning", "notice"]


def test_a_problem_has_the_severity_of_its_code() -> None:
    assert Problem(code="xml/truncated", document="", detail="").severity is Severity.ERROR


def test_no_two_codes_have_one_meaning() -> None:
    meanings = [entry.meaning for entry in CATALOGUE.values()]
    assert len(meanings) == len(set(meanings))
    assert {field.name for field in fields(ProblemType)} == {*_SENTENCES, "severity", "loses", "reliability", "google"}
