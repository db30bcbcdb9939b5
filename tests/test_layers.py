"""What modules import: folders in one strict order, Scrapy only in the last, few others; class names are unique."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import sitemap_harvest

PACKAGE = Path(sitemap_harvest.__file__).parent
ORDER = (
    "redact",
    "errors",
    "dates",
    "escape",
    "text_width",
    "files",
    "frames",
    "display",
    "urls",
    "model",
    "formats",
    "export",
    "workbook",
    "filters",
    "discovery",
    "frontier",
    "network",
    "archive",
    "snapshots",
    "diff",
    "audit",
    "databases",
    "plots",
    "config",
    "engine",
    "api",
    "integration",
    "page_visits",
    "browser",
    "reporting",
    "spiders",
    "addon",
    "settings",
    "jobs",
    "cli",
    "__main__",
    "scrapyd_ping",
)
"""Each imports from itself and from those before it."""
KNOW_SCRAPY = frozenset(ORDER[ORDER.index("integration") :])
MOST_NEEDED = 12
MODULES = sorted(PACKAGE.rglob("*.py"))


@cache
def nodes(module: Path) -> list[ast.AST]:
    """Return the syntax tree of *module*, flat."""
    return list(ast.walk(ast.parse(module.read_bytes())))


@cache
def imports(module: Path) -> set[str]:
    """Return the dotted names that *module* imports anywhere in it, including those for types only."""
    names = set()
    for node in nodes(module):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def needed(node: ast.AST) -> set[str]:
    """Return the modules of the package that *node* imports anywhere in it, without those for types only."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return set()
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        return {node.module} if node.module.split(".")[0] == "sitemap_harvest" else set()
    return set().union(*map(needed, ast.iter_child_nodes(node)))


def folder(module: Path) -> str:
    """Return the first folder (or the name) of *module* in the package; the package itself has none."""
    first = module.relative_to(PACKAGE).parts[0]
    return "" if first == "__init__.py" else first.removesuffix(".py")


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_imports_follow_the_order_of_folders(module: Path) -> None:
    own = folder(module)
    used = {name.split(".")[1] for name in imports(module) if name.startswith("sitemap_harvest.")} & set(ORDER)
    if own:
        assert own in ORDER, f"{own} has no place in the order"
        assert {name for name in used if ORDER.index(name) > ORDER.index(own)} == set()
    else:
        assert not used & KNOW_SCRAPY, "reading a document from Python never needs Scrapy"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_no_module_needs_more_than_twelve_others(module: Path) -> None:
    """Imports for types only do not count: a module whose objects are only passed on is not needed."""
    assert len(needed(ast.parse(module.read_bytes()))) <= MOST_NEEDED


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(PACKAGE)))
def test_only_the_last_folders_know_scrapy(module: Path) -> None:
    if folder(module) not in KNOW_SCRAPY:
        assert not {name.split(".")[0] for name in imports(module)} & {"scrapy", "twisted"}


def test_no_class_name_means_two_things() -> None:
    classes = [node.name for module in MODULES for node in nodes(module) if isinstance(node, ast.ClassDef)]
    assert {name for name in classes if classes.count(name) > 1} == set()
