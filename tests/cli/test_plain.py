"""Values of any type are read back from each format as they were."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest.cli.plain import distinct, plain
from sitemap_harvest.export import csv_header, csv_lines, json_objects, tsv_lines
from tests.test_export import unescaped

pytestmark = pytest.mark.quick

DATES = st.dates(date(1700, 1, 1), date(2250, 1, 1))
TIMES = st.datetimes(datetime(1700, 1, 1), datetime(2250, 1, 1))  # noqa: DTZ001 - without a zone on purpose
INSTANTS = TIMES.map(lambda one: one.replace(tzinfo=UTC))
TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
KINDS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.int8(), st.integers(-128, 127)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.decimal128(38, 0), st.integers(-(10**37), 10**37).map(Decimal)),
    (pa.decimal128(9, 2), st.integers(-(10**8), 10**8).map(lambda one: Decimal(one) / 100)),
    (pa.float64(), st.floats(allow_nan=False, allow_infinity=False)),
    (pa.bool_(), st.booleans()),
    (pa.string(), TEXTS),
    (pa.binary(), TEXTS.map(str.encode)),
    (pa.date32(), DATES),
    (pa.time64("us"), st.times()),
    (pa.timestamp("us"), TIMES),
    (pa.timestamp("us", "Etc/UTC"), INSTANTS),
    (pa.dictionary(pa.uint8(), pa.string()), TEXTS),
]
STRUCT = pa.struct({"d": pa.date32(), "l": pa.list_(pa.date32())})
NESTED = [
    *(
        (pa.list_(kind), st.lists(values | st.none(), max_size=3))
        for kind, values in KINDS
        if not pa.types.is_dictionary(kind)
    ),
    (pa.list_(pa.int32(), 2), st.lists(st.integers(0, 9), min_size=2, max_size=2)),
    (STRUCT, st.fixed_dictionaries({"d": DATES, "l": st.lists(DATES, max_size=2)})),
    (pa.map_(pa.int32(), pa.date32()), st.lists(st.tuples(st.integers(0, 99), DATES), max_size=1)),
]


def expected(value: Any, kind: pa.DataType) -> Any:
    """Return *value* as JSON has it; fractions are decimals."""
    if value is not None and pa.types.is_map(kind):
        return {str(key): expected(one, kind.item_type) for key, one in value}
    if value is not None and pa.types.is_struct(kind):
        return {name: expected(one, kind.field(name).type) for name, one in value.items()}
    if isinstance(value, list):
        return [expected(one, kind.value_type) for one in value]
    if isinstance(value, float):
        return Decimal(repr(value))
    if isinstance(value, bytes):
        value = value.decode()
    return value.isoformat() if isinstance(value, (date, datetime, time)) else value


COLUMNS = st.sampled_from([*KINDS, *NESTED]).flatmap(
    lambda kind: st.lists(kind[1] | st.none(), min_size=1, max_size=4).map(lambda values: pa.array(values, kind[0]))
)


@pytest.mark.thorough
@given(COLUMNS)
def test_values_are_read_back(column: pa.Array) -> None:
    batch = plain(pa.RecordBatch.from_arrays([column], ["value"]))
    columns = {"value": batch["value"]}
    wanted = [expected(value, column.type) for value in column.to_pylist()]
    lines = json_objects(columns, len(column)).to_pylist()
    assert [json.loads(line, parse_float=Decimal)["value"] for line in lines] == wanted
    tsv = [unescaped(line.removesuffix("\n")) for line in tsv_lines(columns, len(column)).to_pylist()]
    assert [None if value is None else read(value, batch["value"].type) for value in tsv] == wanted
    text = csv_header(columns) + "".join(csv_lines(columns, len(column)).to_pylist())
    cells = [row[0] if row else "" for row in csv.reader(io.StringIO(text, newline=""))]
    assert cells == ["value", *(value or "" for value in tsv)]


def read(text: str, kind: pa.DataType) -> Any:
    """Return the value of a cell."""
    if pa.types.is_string(kind) or pa.types.is_timestamp(kind):
        return text
    return json.loads(text, parse_float=Decimal)


@pytest.mark.parametrize(
    ("names", "unique"),
    [
        pytest.param(["a", "b"], ["a", "b"], id="different"),
        pytest.param(["a", "a", "a"], ["a", "a_2", "a_3"], id="the-same"),
        pytest.param(["a", "a", "a_2"], ["a", "a_3", "a_2"], id="the-new-name-is-there"),
    ],
)
def test_columns_get_different_names(names: list[str], unique: list[str]) -> None:
    assert list(distinct(names)) == unique
