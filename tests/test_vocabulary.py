"""One word, one meaning: names and phrases that were replaced by the field's own terms do not come back.

The terms are those of ``docs/glossary.md``.
"""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

import sitemap_harvest

PACKAGE = Path(sitemap_harvest.__file__).parent
ROOT = PACKAGE.parent
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
    "quieten": "filter_logs",
    "in_need": "without_record",
    "run_mark": "run_context",
    "polls": "feeds_only",
}
"""Each with the term to use."""
PHRASES = (
    ("(?:is|are|was|were|be|been|being) told", "is reported, is an error, receives"),
    ("asked for", "requested"),
    ("who (?:has|have)", "that has, with"),
    ("one'?s own", "a user's own"),
    ("as ever", "as before, unchanged"),
    ("held against", "compared with"),
    ("but for(?! at)", "except"),
    ("blanks", "whitespace, spaces"),
    ("in vain", "without success"),
    ("all the same", "nevertheless"),
    ("passed over", "skipped"),
    ("stands? for", "means, represents"),
    ("befalls?", "happens to"),
    ("vouch(?:es|ed)?", "authorize"),
)
"""Patterns of phrases, each with plain words to use instead. A space is any whitespace, also between lines."""
_PATTERNS = [(re.compile(r"\b" + phrase.replace(" ", r"\s+") + r"\b"), plain) for phrase, plain in PHRASES]
_IN_SOURCE = [re.compile(phrase.replace(" ", r"[\s#_]+")) for phrase, _ in PHRASES]
"""Any of them matches in a file with a phrase, so that few files are split into tokens."""
_WORDS = re.compile(r"[A-Z]?[a-z]+")
_BEFORE_A_DOCSTRING = {tokenize.ENCODING, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


def names(module: Path) -> set[str]:
    """Return the identifiers in *module*, in lower case, whole and by their words."""
    tokens = tokenize.generate_tokens(io.StringIO(module.read_text()).readline)
    found = {token.string for token in tokens if token.type == tokenize.NAME}
    return {name.strip("_").lower() for name in found} | {
        word.lower() for name in found for word in _WORDS.findall(name)
    }


def prose(module: str) -> str:
    """Return the docstrings, comments and test names of *module*, each on its line."""
    lines = [""] * (module.count("\n") + 2)
    before = ""
    kind = tokenize.ENCODING
    for token in tokenize.generate_tokens(io.StringIO(module).readline):
        text = ""
        if token.type == tokenize.COMMENT:
            text = token.string.removeprefix("#")
        elif token.type == tokenize.STRING and kind in _BEFORE_A_DOCSTRING:
            text = token.string
        elif token.type == tokenize.NAME and before == "def" and token.string.startswith("test_"):
            text = token.string.replace("_", " ")
        for number, line in enumerate(text.split("\n"), token.start[0] - 1):
            lines[number] += line
        before = token.string
        if token.type not in {tokenize.NL, tokenize.COMMENT}:
            kind = token.type
    return "\n".join(lines)


def phrases(text: str) -> list[tuple[int, str, str]]:
    """Return the line, the phrase and the plain words for each phrase in *text* that was replaced."""
    return [
        (text.count("\n", 0, match.start()) + 1, " ".join(match.group().split()), plain)
        for pattern, plain in _PATTERNS
        for match in pattern.finditer(text.lower())
    ]


@pytest.mark.parametrize("module", sorted(PACKAGE.rglob("*.py")), ids=lambda module: str(module.relative_to(PACKAGE)))
def test_replaced_names_do_not_come_back(module: Path) -> None:
    assert {name: REPLACED[name] for name in names(module) & REPLACED.keys()} == {}


@pytest.mark.parametrize("folder", ["sitemap_harvest", "tests", "docs"])
def test_replaced_phrases_do_not_come_back(folder: str) -> None:
    files = [*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.md"), *ROOT.glob("*.md")]
    texts = {file: file.read_text() for file in sorted(files)}
    found = [
        f"{file.relative_to(ROOT)}:{line}: instead of '{phrase}' write: {plain}"
        for file, text in texts.items()
        if any(pattern.search(text.lower()) for pattern in _IN_SOURCE)
        for line, phrase, plain in phrases(text if file.suffix == ".md" else prose(text))
    ]
    assert not found, "\n".join(found)


def test_a_phrase_is_found_in_docstrings_comments_and_test_names() -> None:
    module = (
        '"""Blanks\n\nheld\nagainst"""\n'
        "blanks = 'as ever'  # in vain\n"
        "def test_it_is_told():\n"
        "    # all the same\n"
        '    """But for."""\n'
    )
    assert sorted((line, phrase) for line, phrase, _ in phrases(prose(module))) == [
        (1, "blanks"),
        (3, "held against"),
        (5, "in vain"),
        (6, "is told"),
        (7, "all the same"),
        (8, "but for"),
    ]
