"""One word, one meaning: names that were replaced by the field's own terms do not come back (``docs/glossary.md``)."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

import sitemap_harvest

PACKAGE = Path(sitemap_harvest.__file__).parent
REPLACED = {
    "lead": "candidate",
    "refusal_of": "not_fetched",
    "handout": "emitter",
    "keeper": "session",
    "flights": "in_flight",
    "lender": "shared_from",
    "extents": "row_ranges",
    "vouched": "authorized",
    "wish": "option",
    "wishes": "options",
    "errand": "fetch",
    "errands": "fetcher",
    "stranded": "lost",
    "volumes": "segments",
    "put_back": "requeue",
    "quieten": "log_filters",
    "in_need": "without_record",
    "run_mark": "run_context",
    "polls": "feeds_only",
}
"""Each with the term to use."""
_WORDS = re.compile(r"[A-Z]?[a-z]+")


def names(module: Path) -> set[str]:
    """Return the identifiers in *module*, in lower case, whole and by their words."""
    tokens = tokenize.generate_tokens(io.StringIO(module.read_text()).readline)
    found = {token.string for token in tokens if token.type == tokenize.NAME}
    return {name.strip("_").lower() for name in found} | {
        word.lower() for name in found for word in _WORDS.findall(name)
    }


@pytest.mark.parametrize("module", sorted(PACKAGE.rglob("*.py")), ids=lambda module: str(module.relative_to(PACKAGE)))
def test_replaced_names_do_not_come_back(module: Path) -> None:
    assert {name: REPLACED[name] for name in names(module) & REPLACED.keys()} == {}
