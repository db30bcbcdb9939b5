"""Sphinx configuration, and the tables of the reference that are made from the code."""

from __future__ import annotations

import dataclasses
import json
import pkgutil
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from itemadapter import ItemAdapter
from sphinx.util.docutils import SphinxDirective

import sitemap_harvest
from sitemap_harvest.audit import RULES
from sitemap_harvest.formats import Limits
from sitemap_harvest.integration import default_settings as defaults
from sitemap_harvest.model import CATALOGUE, Reliability

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sphinx.application import Sphinx

    from sitemap_harvest.audit import AuditRule
    from sitemap_harvest.model import ProblemType

project = "sitemap_harvest"
copyright = "the sitemap_harvest authors"  # noqa: A001 - Sphinx's name for it
version = release = sitemap_harvest.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
smartquotes = False  # the texts of problems quote XML, to be copied
html_theme = "furo"
html_title = f"sitemap_harvest {release}"

autodoc_member_order = "bysource"
autodoc_class_signature = "separated"  # the fields of a record are documented below it, not in one long line
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "undoc-members": True, "exclude-members": "__init__, __new__"}

_TOOLS = {
    "google": "Google Search Console",
    "bing": "Bing Webmaster Tools",
    "screaming_frog": "Screaming Frog",
    "sitebulb": "Sitebulb",
}  # by the arguments of @rule

Cell = str | nodes.Node


class CodeTable(SphinxDirective):
    """Base of the tables that are made from the code, so that they cannot be out of date."""

    head: ClassVar[tuple[str, ...]]

    def lines(self) -> Iterable[tuple[Cell, ...]]:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        group = nodes.tgroup(cols=len(self.head))
        group += [nodes.colspec(colwidth=1) for _ in self.head]
        group += nodes.thead("", self._row(self.head))
        group += nodes.tbody("", *map(self._row, self.lines()))
        return [nodes.table("", group)]

    @staticmethod
    def _row(cells: tuple[Cell, ...]) -> nodes.row:
        row = nodes.row()
        for cell in cells:
            text = nodes.Text(cell) if isinstance(cell, str) else cell
            row += nodes.entry("", nodes.paragraph("", "", text))
        return row


class PlainSettings(CodeTable):
    """The Scrapy settings that the package offers a value of its own for."""

    head = ("setting", "value")

    def lines(self) -> Iterable[tuple[Cell, ...]]:
        return [(_code(name), _code(repr(value))) for name, value in defaults.PLAIN.items()]


class Problems(CodeTable):
    """The catalogue of problems at a glance; each leads to its section."""

    head = ("code", "severity", "entries may be missing", "meaning")

    def lines(self) -> Iterable[tuple[Cell, ...]]:
        for code, known in CATALOGUE.items():
            name = nodes.reference("", "", _code(code), refid=nodes.make_id(code), internal=True)
            yield name, str(known.severity), "yes" if known.loses else "", known.meaning


_UNRELIABLE = {
    Reliability.REST: "The entry in which it occurs, and all that follow.",
    Reliability.RECOVERED: "Its entry, the one before, and all that follow; none if the XML is well-formed.",
    Reliability.ALL: "All entries.",
}


class ProblemSections(SphinxDirective):
    """A section for each problem of the catalogue."""

    def run(self) -> list[nodes.Node]:
        return [self._section(code, known) for code, known in CATALOGUE.items()]

    @staticmethod
    def _section(code: str, known: ProblemType) -> nodes.section:
        section = nodes.section("", nodes.title("", "", _code(code)), ids=[nodes.make_id(code)], names=[code])
        section += nodes.paragraph("", known.meaning)
        fields = {"severity": str(known.severity), "cause": known.cause, "consequence": known.consequence}
        fields |= {"entries": "Some may be missing, so the document is not complete."} if known.loses else {}
        fields |= {"unreliable": _UNRELIABLE[known.reliability]} if known.reliability in _UNRELIABLE else {}
        fields |= {_TOOLS["google"]: known.google} if known.google else {}
        section += nodes.field_list("", *(_field(name, text) for name, text in (fields | {"fix": known.fix}).items()))
        return section


def _field(name: str, text: str) -> nodes.field:
    return nodes.field("", nodes.field_name("", name), nodes.field_body("", nodes.paragraph("", text)))


class Rules(CodeTable):
    """The rules of the audit at a glance; each leads to its section."""

    head = ("rule", "severity", "meaning")

    def lines(self) -> Iterable[tuple[Cell, ...]]:
        for name, known in RULES.items():
            link = nodes.reference("", "", _code(name), refid=nodes.make_id(name), internal=True)
            yield link, str(known.severity), known.title


class RuleSections(SphinxDirective):
    """A section for each rule of the audit, made from the docstring of its query."""

    def run(self) -> list[nodes.Node]:
        return [self._section(name, known) for name, known in RULES.items()]

    def _section(self, name: str, known: AuditRule) -> nodes.section:
        label = f"audit rule {name}"  # labels are unique among all pages, and some rules have the code of a problem
        section = nodes.section("", nodes.title("", "", _code(name)), ids=[nodes.make_id(name)], names=[label])
        for paragraph in known.documentation.split("\n\n"):
            text, _ = self.parse_inline(" ".join(paragraph.split()))
            section += nodes.paragraph("", "", *text)
        fields = {"severity": str(known.severity)}
        fields |= {f"threshold {name}": f"{default:g}" for name, default in known.thresholds.items()}
        fields |= {_TOOLS[tool]: words for tool, words in known.names.items()}
        section += nodes.field_list("", *(_field(key, text) for key, text in fields.items()))
        return section


class JsonSchema(SphinxDirective):
    """The JSON Schema of a record, named as ``sitemap_harvest`` exports it, or by its module too."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        schema = ItemAdapter.get_json_schema(
            pkgutil.resolve_name(name) if "." in name else getattr(sitemap_harvest, name)
        )
        text = json.dumps(schema, indent=2)
        return [nodes.literal_block(text, text, language="json")]


def _code(text: str) -> nodes.literal:
    return nodes.literal(text, text)


def add_default(_app: Sphinx, _what: str, name: str, _found: Any, _options: Any, lines: list[str]) -> None:
    """Add the default to each field of ``Limits``, whose class cannot show it, because it has slots."""
    for field in dataclasses.fields(Limits):
        if name in {f"{Limits.__module__}.Limits.{field.name}", f"sitemap_harvest.Limits.{field.name}"}:
            lines += ["", f"Default: ``{field.default!r}``."]


def setup(app: Sphinx) -> None:
    app.add_directive("plain-settings", PlainSettings)
    app.add_directive("problem-table", Problems)
    app.add_directive("problem-sections", ProblemSections)
    app.add_directive("rule-table", Rules)
    app.add_directive("rule-sections", RuleSections)
    app.add_directive("json-schema", JsonSchema)
    app.connect("autodoc-process-docstring", add_default)
