"""Each number of the test plan is covered by a document in ``fixtures/cases`` or by a marked test."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.cases.served import CASES, EXPECTED, number

TESTS = Path(__file__).parents[1]
PLANNED = set(range(1, 173))
_DOCUMENTS = [path for path in CASES.glob("*/*") if not path.name.endswith(EXPECTED)]


def test_every_number_of_the_plan_is_covered() -> None:
    shown = {int(number(path)) for path in _DOCUMENTS}
    for path in TESTS.rglob("test_*.py"):
        shown |= _marked(ast.parse(path.read_text(encoding="utf-8")))
    assert PLANNED - shown == set()
    assert shown - PLANNED == set()


def test_every_document_has_an_expectation_and_a_test() -> None:
    expectations = {path.with_name(path.name.removesuffix(EXPECTED)) for path in CASES.glob(f"*/*{EXPECTED}")}
    assert set(_DOCUMENTS) == expectations
    assert {path.parent.name for path in _DOCUMENTS} == {
        path.stem.removeprefix("test_") for path in Path(__file__).parent.glob("test_*.py")
    } - {"plan"}


def _marked(module: ast.Module) -> set[int]:
    """Return the numbers in ``@pytest.mark.case(...)``, on functions and on rows of tables."""
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call)]
    marks = [call for call in calls if ast.unparse(call.func) == "pytest.mark.case"]
    return {ast.literal_eval(argument) for mark in marks for argument in mark.args}
