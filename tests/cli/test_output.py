"""The output formats: nothing is lost, and tables are safe to look at."""

import json
from typing import Any

import pytest
import yaml

from dex.cli.output import Output
from dex.cli.render.cells import cell
from dex.cli.render.csv import csv_document
from dex.cli.render.rows import MISSING
from dex.cli.render.text import printable
from dex.wcl.commands import Freshness, StoreRow, StoreRows

CASE_18 = {"n": None, "e": "", "i": 1, "b": False}
BIG = 9007199254740993


Capture = pytest.CaptureFixture[bytes]


def written(capture: Capture, form: str, result: Any) -> str:
    """Give what a result looks like in a format where no terminal is."""
    out = Output(form)
    out.result(result)
    out.flush()
    return capture.readouterr().out.decode()


@pytest.mark.spec("X-02")
@pytest.mark.parametrize("form", ["json", "ndjson", "yaml"])
def test_types_come_back_from_data_formats(capfdbinary: Capture, form: str) -> None:
    """Null, empty text, numbers and booleans keep their types (cases 18 and 19)."""
    value = {**CASE_18, "big": BIG, "text": "1", "line": "a\nb"}
    text = written(capfdbinary, form, value)
    found = yaml.safe_load(text) if form == "yaml" else json.loads(text)
    assert found == value
    assert {name: type(item) for name, item in found.items()} == {name: type(item) for name, item in value.items()}


@pytest.mark.spec("X-02")
@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, ""),
        ("", '""'),
        ("a", "a"),
        (1, "1"),
        ("1", '"1"'),
        (True, "true"),
        ("true", '"true"'),
        ("null", '"null"'),
        ('a"b', '"a""b"'),
        ("a,b", '"a,b"'),
        ("a\nb", '"a\nb"'),
        (" a", '" a"'),
        (BIG, str(BIG)),
        (["x", 1], '"[""x"",1]"'),
        ({"bytes": "AP8="}, '"{""bytes"":""AP8=""}"'),
    ],
)
def test_csv_tells_types_apart(value: Any, cell: str) -> None:
    """Null is empty, the empty text is quoted, and text that reads as another type is quoted (case 18)."""
    assert csv_document([{"c": value, "d": 1}]).decode() == f"c,d\r\n{cell},1\r\n"


@pytest.mark.spec("X-02")
@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("named.x", 3, "3"),
        ("named.x", "3", '"3"'),
        ("named.x", True, "true"),
        ("named.x", "true", '"true"'),
        ("named.x", None, "null"),
        ("named.x", "null", '"null"'),
        ("named.x", MISSING, ""),
        ("named.x", "", '""'),
        ("named.x", " a", '" a"'),
        ("named.x", '"a"', '""a""'),
        ("named.x", ["a", 3], '["a",3]'),
        ("named.x", {"bytes": "YWI="}, r"\x61\x62"),
        ("named.x", {"bytes": "AGH/"}, r"\x00a\xff"),
        ("x", {"bytes": "no base64"}, '{"bytes":"no base64"}'),
        ("x", {"bytes": {"bytes": "AGH/"}}, '{"bytes":{"bytes":"AGH/"}}'),
        ("named.x", r"\x61", r'"\x61"'),
        ("key", "3", "3"),
        ("payload", "", ""),
        ("stores", ["a.b", "a.c"], "a.b, a.c"),
        ("stores", [], ""),
        ("keys", [{"name": "pp", "unique": True, "extractor": None}], "pp UNIQUE"),
        (
            "keys",
            [{"name": "a b", "unique": True, "extractor": {"kind": "metadata", "name": "x"}}, {"name": "c"}],
            "\"a b\" = METADATA 'x' UNIQUE, c",
        ),
    ],
)
def test_cells_of_tables_tell_values_apart(column: str, value: Any, shown: str) -> None:
    """Text that reads as another type is quoted, what is not set is empty, lists and keys are readable."""
    assert cell(column, value) == shown


@pytest.mark.spec("X-02")
def test_columns_of_a_long_table_stay_where_they_are(capfdbinary: Capture) -> None:
    """The first rows decide the widths for all: later rows stand under their headers, numbers to the right."""
    out = Output("table")
    out.items(({"k": f"k{n:05}", "n": n, "t": "x" * (n % 7)} for n in range(1000)), ["k", "n", "t"])
    out.flush()
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert len(lines) == 1002
    assert lines[0].index("t") == lines[999].index("x", 8) == lines[3].index("x", 8)
    assert lines[1001].startswith("k00999  999  ")
    assert lines[2].startswith("k00000    0  ")


@pytest.mark.spec("X-02")
def test_a_table_without_rows_says_nothing_and_csv_has_its_header(capfdbinary: Capture) -> None:
    """Where no person looks an empty table is empty; a script that reads CSV always finds the columns."""
    for form, expected in (("table", b""), ("csv", b"key,payload\r\n"), ("ndjson", b"")):
        out = Output(form)
        out.items([], ["key", "payload"])
        out.flush()
        assert capfdbinary.readouterr().out == expected


@pytest.mark.spec("X-02")
def test_csv_of_rows_has_a_column_for_each_named_value(capfdbinary: Capture) -> None:
    """Objects inside a row become columns, and a row without one has null there."""
    rows = [StoreRow(b"a", b"1", {"x": 1}), StoreRow(b"\xff", b"", {"y": ""})]
    text = written(capfdbinary, "csv", StoreRows(rows, Freshness(1, 1, 0, "me")))
    assert text == 'key,payload,named.x,named.y\r\na,"1",1,\r\n"{""bytes"":""/w==""}","",,""\r\n'


@pytest.mark.spec("X-02")
def test_bytes_that_are_not_utf8_are_lossless(capfdbinary: Capture) -> None:
    """JSON has them as base64, a table as escapes."""
    row = StoreRow(b"a\x00b", b"\x00\xff", {})
    assert json.loads(written(capfdbinary, "json", row))["payload"] == {"bytes": "AP8="}
    table = written(capfdbinary, "table", row)
    assert r"\x00\xff" in table
    assert r"a\x00b" in table
    assert "\x00" not in table


@pytest.mark.spec("X-02")
@pytest.mark.parametrize("form", ["csv", "table"])
def test_streams_have_one_header_whatever_their_length(capfdbinary: Capture, form: str) -> None:
    """Items that are written in chunks share a header and fixed columns."""
    out = Output(form)
    out.items(({"k": number, "named": {"a": number}} for number in range(600)), ["k", "named.a", "named.b"])
    out.flush()
    text = capfdbinary.readouterr().out.decode()
    assert text.count("named.a") == 1
    assert text.count("599") == 2


@pytest.mark.spec("X-02")
def test_a_list_is_one_document_in_json_and_lines_in_ndjson(capfdbinary: Capture) -> None:
    """`json` gives the list, `ndjson` its items."""
    assert written(capfdbinary, "json", [{"a": 1}, {"a": 2}]) == '[{"a":1},{"a":2}]\n'
    assert written(capfdbinary, "ndjson", [{"a": 1}, {"a": 2}]) == '{"a":1}\n{"a":2}\n'


@pytest.mark.spec("X-02")
def test_wide_tables_are_not_cut_where_no_terminal_is(capfdbinary: Capture) -> None:
    """A table in a pipe has each row whole on a line."""
    assert "x" * 500 in written(capfdbinary, "table", [{"a": "x" * 500, "b": 1}])


@pytest.mark.spec("X-02")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", r"a\x00b"),
        ("\x1b[31m", r"\x1b[31m"),
        ("a\nb\t", r"a\nb\t"),
        ("\udcff", r"\xff"),
        ("\u202e", r"\u202e"),
        ("Grüße \\n", "Grüße \\n"),
    ],
)
def test_text_for_people_has_no_control_characters(text: str, shown: str) -> None:
    """What a terminal would obey is escaped, the rest stays."""
    assert printable(text) == shown
