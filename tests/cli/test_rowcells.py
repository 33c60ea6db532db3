"""Rows of a store as cells of CSV: whatever a row holds comes back."""

import csv
import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dex.cli.importing.rows import RowMapping
from dex.cli.importing.sources import csv_lines
from dex.cli.render.csv import csv_header, csv_rows
from dex.cli.rowcells import columns_for, from_cell, to_cells
from dex.wcl.commands import PutRow, StoreRow
from dex.wcl.errors import InputError
from dex.wcl.values import I64_MAX, I64_MIN

KEYS = ["a", "b c"]

texts = st.one_of(
    st.text(max_size=20), st.sampled_from([":=", ":=3", ":=null", "3", "null", "\r\n", "\r", '"', "a,b", "\0"])
)
scalars = st.one_of(texts, st.integers(I64_MIN, I64_MAX), st.booleans(), st.none(), st.binary(max_size=20))
values = st.one_of(scalars, st.lists(scalars, min_size=1, max_size=3))
blobs = st.one_of(st.binary(max_size=20), texts.map(str.encode))


@st.composite
def rows(draw: Any) -> StoreRow:
    named = draw(st.dictionaries(st.sampled_from(KEYS), values))
    return StoreRow(draw(blobs.filter(bool)), draw(blobs), named)


@pytest.mark.spec("X-02")
@settings(max_examples=100, deadline=None, database=None)
@given(st.lists(rows(), max_size=4))
def test_rows_come_back_from_csv(written: list[StoreRow]) -> None:
    """Bytes, nulls, values that are not set, empty text and every type are the same after export and import."""
    columns = columns_for(KEYS)
    lines = [[to_cells(row).get(column) for column in columns] for row in written]
    data = csv_header(columns) + csv_rows(lines)
    reading = RowMapping.from_options("s", KEYS, None, None, []).reading()
    found = [reading.from_csv(line.record, line.raw) for line in csv_lines(io.BytesIO(data), "f", reading.check_header)]
    assert found == [PutRow(store="s", key=row.key, payload=row.payload, named=row.named) for row in written]


@pytest.mark.spec("X-02")
def test_cells_are_what_the_command_line_takes() -> None:
    """Text is as it is, and := begins a typed value."""
    row = StoreRow(b"\xff", b"x", {"a": 3, "b c": ["eng", None]})
    assert to_cells(row) == {
        "key": ':={"bytes":"/w=="}',
        "payload": "x",
        "named.a": ":=3",
        "named.b c": ':=["eng",null]',
    }
    with pytest.raises(InputError, match="JSON"):
        from_cell(":=x")


@pytest.mark.spec("X-02")
def test_other_programs_read_the_lines() -> None:
    """The lines are CSV as RFC 4180 has it."""
    cells = ["a,b", 'q"q', "two\r\nlines", ""]
    assert next(csv.reader(io.StringIO(csv_rows([cells]).decode(), newline=""))) == cells
