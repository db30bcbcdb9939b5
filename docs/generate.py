"""Writes the parts of the reference pages that come from the code: ``python docs/generate.py``.

A part stands between two comments, of which the first names it:

    <!-- generated: api sitemap_harvest.UrlEntry, except: rows -->
    <!-- end of generated -->

The pages are committed, so that they can be read without Sphinx. A test compares them with the code.
"""

from __future__ import annotations

import dataclasses
import json
import pkgutil
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import griffe
from itemadapter import ItemAdapter

from sitemap_harvest.audit import RULES
from sitemap_harvest.audit.explanation import when_left_out
from sitemap_harvest.integration import default_settings
from sitemap_harvest.model import CATALOGUE, Reliability

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sitemap_harvest.audit import AuditRule
    from sitemap_harvest.model import ProblemType

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "reference").glob("*.md"))
TOOLS = {
    "google": "Google Search Console",
    "bing": "Bing Webmaster Tools",
    "screaming_frog": "Screaming Frog",
    "sitebulb": "Sitebulb",
}  # by the arguments of @rule

_PART = re.compile(
    r"(?P<begin><!-- generated: (?P<kind>[\w-]+)(?: (?P<name>[\w.]+))?(?:, except: (?P<omitted>[\w, ]+))? -->\n)"
    r".*?(?P<end><!-- end of generated -->)",
    re.DOTALL,
)
_CODE = re.compile(r"``(.+?)``", re.DOTALL)
_ROLE = re.compile(r":(\w+):`~?(?:[^`]*\.)?([^`.]+)`")
_WIDTH = 120
_ONCE = {"ItemRecord", "ArrowData"}


def page(markdown: str) -> str:
    """Return *markdown*, the text of a page, with its generated parts as the code is now."""
    return _PART.sub(_part, markdown)


def _part(found: re.Match[str]) -> str:
    write, name = _WRITERS[found["kind"]], found["name"]
    omitted = {each.strip() for each in (found["omitted"] or "").split(",")}
    lines = write(name, omitted) if name else write()
    return f"{found['begin']}\n" + "\n".join(lines).strip() + f"\n\n{found['end']}"


# The names that a module exports


def api(name: str, omitted: set[str]) -> Iterator[str]:
    """Document the class or the function *name*, without its members *omitted*."""
    known = _package()[name.removeprefix("sitemap_harvest.")]
    known = known.final_target if known.is_alias else known
    if known.is_function:
        yield f"### `{known.name}()`\n"
        yield from _signature(known)
        yield from _paragraphs(known)
        return
    yield f"### `{known.name}`\n"
    yield from _paragraphs(known)
    members = [member for member in _members(known) if member.name not in omitted and _is_described(member)]
    if _is_enum(known):
        yield from _table(("value", "meaning"), ((f"`{one.value}`".replace("'", ""), _cell(one)) for one in members))
        return
    fields = [member for member in members if member.is_attribute]
    yield from _table(
        ("field", "type", "meaning"),
        ((f"`{one.name}`", f"`{_type(one)}`" if one.annotation else "", _cell(one)) for one in fields),
    )
    for method in (member for member in members if member.is_function):
        yield f"#### `{known.name}.{method.name}()`\n"
        yield from _signature(method)
        yield from _paragraphs(method)


def text(name: str, omitted: set[str]) -> Iterator[str]:  # noqa: ARG001 - as the others
    """Document the class *name* by its docstring alone."""
    yield from _paragraphs(_package()[name.removeprefix("sitemap_harvest.")])


def module(name: str, omitted: set[str]) -> Iterator[str]:
    """Document the classes of the module *name*, in their order."""
    known = _package()[name.removeprefix("sitemap_harvest.")]
    for member in known.members.values():
        if not member.is_alias and member.is_class and not member.name.startswith("_") and member.name not in omitted:
            yield from api(f"{name}.{member.name}", set())


def _package(loaded: list[griffe.Module] = []) -> griffe.Module:  # noqa: B006 - loaded once
    if not loaded:
        loader = griffe.GriffeLoader(search_paths=[ROOT])
        loaded.append(loader.load("sitemap_harvest"))
        loader.resolve_aliases()
    return loaded[0]


def _members(known: griffe.Class) -> Iterator[griffe.Object]:
    """Yield the public members of *known*, inherited ones first, in the order of the source.

    What items, and what all that has rows inherit, is described once.
    """
    bases = known.mro() if known.bases else []
    inherited = [base for base in bases if base.path.startswith("sitemap_harvest.") and base.name not in _ONCE]
    seen: dict[str, griffe.Object] = {}
    for each in (*reversed(inherited), known):
        seen |= {name: member for name, member in each.members.items() if not name.startswith("_")}
    yield from (member.final_target if member.is_alias else member for member in seen.values())


def _is_described(member: griffe.Object) -> bool:
    """Whether *member* has a docstring, or is a field whose name says all."""
    return bool(member.docstring) or (
        member.is_attribute and "instance-attribute" in member.labels and member.annotation
    )


def _is_enum(known: griffe.Class) -> bool:
    return any(str(base).endswith("Enum") for base in known.bases)


def _type(member: griffe.Attribute) -> str:
    return str(member.annotation).replace("|", r"\|").removeprefix("ClassVar[")


def _signature(known: griffe.Function) -> Iterator[str]:
    text = known.signature() if known.parameters else f"{known.name}()"
    text = re.sub(r"= _\w+", "= ...", re.sub(r"\((self|cls)(, )?", "(", text))
    yield "```py"
    yield text if len(text) <= _WIDTH else re.sub(r"\((.*)\)( ->.*)?$", _one_a_line, text)
    yield "```\n"


def _one_a_line(found: re.Match[str]) -> str:
    parameters = re.split(r", (?![^\[(]*[\])])", found[1])
    return "(\n" + "".join(f"    {each},\n" for each in parameters) + f"){found[2] or ''}"


# Docstrings


def _paragraphs(known: griffe.Object) -> Iterator[str]:
    for paragraph in known.docstring.value.split("\n\n") if known.docstring else ():
        if paragraph.startswith(">>>"):
            yield f"```pycon\n{paragraph}\n```\n"
        else:
            yield _wrap(paragraph) + "\n"


def _wrap(paragraph: str) -> str:
    """Return *paragraph* in Markdown, its lines filled; the lines of a list and of a program stay apart."""
    blocks = re.split(r"\n(?=[-*] |    )", paragraph.rstrip(":") + ":" if paragraph.endswith("::") else paragraph)
    return "\n".join(
        inline(block)
        if block.startswith("    ")
        else textwrap.fill(
            inline(" ".join(block.split())),
            _WIDTH,
            subsequent_indent="  " if block[:2] in {"- ", "* "} else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for block in blocks
    )


def inline(docstring: str) -> str:
    """Return *docstring*, reStructuredText in one line, in Markdown."""
    return _CODE.sub(r"`\1`", _ROLE.sub(_name, docstring))


def _name(found: re.Match[str]) -> str:
    return f"`{found[2]}()`" if found[1] in {"meth", "func"} else f"`{found[2]}`"


def _cell(known: griffe.Object) -> str:
    if known.docstring is None:
        return ""
    return _in_cell(inline(" ".join(known.docstring.value.split())))


def _in_cell(text: str) -> str:
    return text.replace("|", r"\|")


# The tables of the code


def problems() -> Iterator[str]:
    """Document the problems: a table, and a section for each."""
    rows = (
        (_link(code), str(known.severity), "yes" if known.loses else "", _in_cell(known.meaning))
        for code, known in CATALOGUE.items()
    )
    yield from _table(("code", "severity", "entries may be missing", "meaning"), rows)
    for code, known in CATALOGUE.items():
        yield f"## `{code}`\n"
        yield textwrap.fill(known.meaning, _WIDTH, break_on_hyphens=False) + "\n"
        facts = _facts_of_problem(known)
        if words := when_left_out(code):
            facts["in an audit"] = f"Left out if {words}."
        yield from _facts(facts)


_UNRELIABLE = {
    Reliability.REST: "The entry in which it occurs, and all that follow.",
    Reliability.RECOVERED: "Its entry, the one before, and all that follow; none if the XML is well-formed.",
    Reliability.ALL: "All entries.",
}


def _facts_of_problem(known: ProblemType) -> dict[str, str]:
    facts = {"severity": str(known.severity), "cause": known.cause, "consequence": known.consequence}
    facts |= {"entries": "Some may be missing, so the document is not complete."} if known.loses else {}
    facts |= {"unreliable": _UNRELIABLE[known.reliability]} if known.reliability in _UNRELIABLE else {}
    facts |= {TOOLS["google"]: known.google} if known.google else {}
    return facts | {"fix": known.fix}


def rules() -> Iterator[str]:
    """Document the rules of the audit: a table, and a section for each, made from the docstring of its query."""
    rows = ((_link(name), str(known.severity), _in_cell(known.title)) for name, known in RULES.items())
    yield from _table(("rule", "severity", "meaning"), rows)
    for name, known in RULES.items():
        yield f"### `{name}`\n"
        for paragraph in known.documentation.split("\n\n"):
            yield _wrap(paragraph) + "\n"
        yield from _facts(_facts_of_rule(known))


def _facts_of_rule(known: AuditRule) -> dict[str, str]:
    facts = {"severity": str(known.severity)}
    facts |= {f"threshold `{name}`": f"{default:g}" for name, default in known.thresholds.items()}
    return facts | {TOOLS[tool]: words for tool, words in known.names.items()}


def plain_settings() -> Iterator[str]:
    """List Scrapy's settings with a default of this package."""
    rows = ((f"`{name}`", _in_cell(f"`{value!r}`")) for name, value in default_settings.PLAIN.items())
    yield from _table(("setting", "value"), rows)


def limits(name: str, omitted: set[str]) -> Iterator[str]:
    """Document the dataclass *name* with the defaults of its fields, which have slots and so show none."""
    defaults = {field.name: field.default for field in dataclasses.fields(pkgutil.resolve_name(name))}
    for line in api(name, omitted):
        found = re.match(r"\| `(\w+)` \|", line)
        yield f"{line.removesuffix(' |')} Default: `{defaults[found[1]]!r}`. |" if found else line


def json_schema(name: str, omitted: set[str]) -> Iterator[str]:  # noqa: ARG001 - as the others
    """Show the JSON Schema of the record *name*."""
    text = json.dumps(ItemAdapter.get_json_schema(pkgutil.resolve_name(name)), indent=2)
    yield "```json"
    yield re.sub(r"\\n *", " ", text)  # versions of itemadapter indent docstrings differently
    yield "```"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    if lines := [f"| {' | '.join(cells)} |" for cells in rows]:
        yield f"| {' | '.join(head)} |"
        yield f"|{'---|' * len(head)}"
        yield from lines
        yield ""


def _facts(facts: dict[str, str]) -> Iterator[str]:
    for name, text in facts.items():
        yield textwrap.fill(f"- **{name}**: {text}", _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    yield ""


def _link(code: str) -> str:
    """Return a link to the section of *code*, as GitHub and MyST derive anchors from headings."""
    return f"[`{code}`](#{code.replace('/', '')})"


_WRITERS: dict[str, Callable[..., Iterator[str]]] = {
    "api": api,
    "text": text,
    "module": module,
    "limits": limits,
    "problems": problems,
    "rules": rules,
    "plain-settings": plain_settings,
    "json-schema": json_schema,
}

if __name__ == "__main__":
    for path in PAGES:
        path.write_text(page(path.read_text("utf-8")), "utf-8")
