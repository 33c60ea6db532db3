"""`dex store`: rows in and out, in the shapes that scripts rely on."""

import json

import pytest

from tests.acceptance.conftest import Dex

STORE = "accounts.employees"


@pytest.mark.spec("S-01", "S-03", "S-09", "S-10", "X-02")
def test_a_row_comes_back_as_it_was_put(employees: Dex) -> None:
    """put, get and get-by, with typed named values and their exact numbers (case 19)."""
    put = employees.ok(
        "store", "put", STORE, "u1", "profile", "--named", "department=eng", "--named", "passport:=9007199254740993"
    ).json
    assert (put["replaced"], put["replayed"]) == (False, False)
    row = employees.ok("store", "get", STORE, "u1").json
    named = {"department": "eng", "passport": 9007199254740993}
    assert (row["key"], row["payload"], row["named"]) == ("u1", "profile", named)
    assert row["freshness"].keys() == {"applied_seq", "committed_seq", "behind", "served_by"}
    missing = employees("store", "get", STORE, "u2", "-o", "json")
    assert (missing.code, missing.error["kind"], missing.error["freshness"]) == (1, "not_found", row["freshness"])
    assert employees.ok("store", "get-by", STORE, "passport", ":=9007199254740993").json["rows"][0]["key"] == "u1"
    assert employees.ok("store", "get-by", STORE, "passport", "9007199254740993").json["rows"] == []


@pytest.mark.spec("X-02", "S-03")
def test_the_same_types_in_every_data_format(dex: Dex) -> None:
    """Null, empty text, a number and a boolean keep their types (case 18)."""
    dex.ok("store", "define", "s", "--key", "n", "--key", "e", "--key", "i", "--key", "b")
    named = ["n:=null", "e=", "i:=1", "b:=false"]
    dex.ok("store", "put", "s", "k", *(word for value in named for word in ("--named", value)))
    expected = {"n": None, "e": "", "i": 1, "b": False}
    assert dex.ok("store", "get", "s", "k", "-o", "json").json["named"] == expected
    assert dex.ok("store", "get", "s", "k", "-o", "ndjson").json["named"] == expected
    yaml = dex.ok("store", "get", "s", "k", "-o", "yaml").text
    assert "  n: null\n  e: ''\n  i: 1\n  b: false\n" in yaml
    header, row = dex.ok("store", "iterate", "s", "-o", "csv").text.splitlines()
    assert (header, row) == ("key,payload,named.n,named.e,named.i,named.b", 'k,"",:=null,":=""""",:=1,:=false')


@pytest.mark.spec("X-02", "S-02")
def test_any_bytes_are_shown_and_given_back(dex: Dex) -> None:
    """Key `a NUL b` and payload 00 ff: escaped in a table, and raw byte for byte (case 28)."""
    dex.ok("store", "define", "s")
    (dex.home / "p.bin").write_bytes(b"\x00\xff")
    key = ':="a\\u0000b"'
    dex.ok("store", "put", "s", key, "@p.bin")
    assert dex.ok("store", "get", "s", key, "--raw").out == b"\x00\xff"
    table = dex.ok("store", "iterate", "s", "-o", "table")
    assert r"a\x00b" in table.text
    assert b"\x00" not in table.out
    assert dex.ok("store", "page", "s").json["rows"][0]["payload"] == {"bytes": "AP8="}
    dex.ok("store", "put", "s", b"k\xff", "-", input=b"\xfe")
    assert dex.ok("store", "get", "s", b"k\xff", "--raw").out == b"\xfe"


@pytest.mark.spec("X-02", "S-02")
def test_text_that_begins_with_an_at_sign_can_be_written(employees: Dex) -> None:
    """@@ stands for one @ that names no file, in payloads and named values."""
    employees.ok("store", "put", STORE, "u1", "@@ann", "--named", "department=@@x", "--named", "passport=@@")
    row = employees.ok("store", "get", STORE, "u1").json
    assert (row["payload"], row["named"]) == ("@ann", {"department": "@x", "passport": "@"})
    assert employees("store", "put", STORE, "u1", "@ann").code == 2


@pytest.mark.spec("X-03", "S-05", "S-06", "S-07", "S-08")
def test_exit_codes_of_reads_and_writes(employees: Dex) -> None:
    """Not found is 1, an undeclared key 1 (case 31), a taken unique value 3, a reused mutation id 3."""
    employees.ok("store", "put", STORE, "u1", "--named", "passport=P1", "--mutation-id", "m1")
    missing = employees("store", "get", STORE, "u9")
    assert (missing.code, missing.out) == (1, b"")
    undeclared = employees("store", "put", STORE, "u2", "--named", "pasport=P2")
    assert undeclared.code == 1
    assert all(word in undeclared.err for word in ("pasport", "department", "passport"))
    assert employees("store", "put", STORE, "u2", "--named", "passport=P1").code == 3
    assert employees("store", "put", STORE, "u1", "other", "--mutation-id", "m1").code == 3
    replay = employees.ok("store", "put", STORE, "u1", "--named", "passport=P1", "--mutation-id", "m1")
    assert replay.json["replayed"] is True
    assert employees.ok("store", "delete", STORE, "u9").json["existed"] is False
    assert employees("store", "get", "accounts.employes", "u1").err.count("accounts.employees") == 1


@pytest.mark.spec("S-12", "S-13", "S-14", "X-07")
def test_pages_clear_and_drop(employees: Dex) -> None:
    """Pages follow by next_key, the last has none; clear empties; drop is for good."""
    for number in range(3):
        employees.ok("store", "put", STORE, f"u{number}")
    page = employees.ok("store", "page", STORE, "--limit", "2").json
    assert [row["key"] for row in page["rows"]] == ["u0", "u1"]
    last = employees.ok("store", "page", STORE, "--limit", "2", "--after", page["next_key"]).json
    assert ([row["key"] for row in last["rows"]], last["next_key"]) == (["u2"], None)
    assert [row["key"] for row in employees.ok("store", "iterate", STORE, "--limit", "2").lines] == ["u0", "u1"]
    assert employees("store", "page", STORE, "--limit", "0").code == 2
    employees.ok("store", "clear", STORE, "--yes")
    assert employees.ok("store", "iterate", STORE).out == b""
    employees.ok("store", "drop", STORE, "--yes")
    again = employees("store", "define", STORE)
    assert again.code in (1, 3)
    assert employees("store", "put", STORE, "u1").code == 1


@pytest.mark.spec("W-01", "W-05", "W-07", "S-19")
def test_define_gives_the_description(dex: Dex) -> None:
    """The result has what describe has and the status; a second define is unchanged; wrong keys are refused."""
    first = dex.ok("store", "define", "a.b", "--key", "p:unique", "--key", "d").json
    assert first["status"] == "created"
    assert [(key["name"], key.get("unique", False)) for key in first["keys"]] == [("p", True), ("d", False)]
    described = dex.ok("store", "describe", "a.b").json
    assert described.keys() == first.keys() - {"status"}
    assert dex.ok("store", "define", "a.b", "--key", "p:unique", "--key", "d").json["status"] == "unchanged"
    assert dex("store", "define", "a.c", "--key", "x", "--key", "x").code == 1
    assert dex("store", "define", "a.c", "--key", "x=json:y").code == 1
    assert dex("store", "define", "a.c", "--from-feed", "f", "--key", "x=jsn:y").code == 2
    assert dex("store", "define", "a.c", "--key", "x:uniq").code == 2
    assert [store["name"] for store in dex.ok("store", "list").json] == ["a.b"]


@pytest.mark.spec("X-03", "X-02")
def test_csv_of_a_failure_is_empty(dex: Dex) -> None:
    """Nothing but results goes to standard output (case 20)."""
    done = dex("store", "get", "no.such", "k", "-o", "csv")
    assert (done.code, done.out) == (1, b"")
    assert done.err.startswith("error: ")


@pytest.mark.spec("X-02")
def test_export_and_import_give_the_same_rows(employees: Dex) -> None:
    """Byte for byte: keys, payloads and named values of every type."""
    rows = [
        {"key": "a", "payload": '{"x": 1}\n', "named": {"department": "eng", "passport": 1}},
        {"key": "b", "payload": {"bytes": "AP8="}, "named": {"department": None, "passport": "1"}},
        {"key": {"bytes": "/w=="}, "payload": "", "named": {"department": ["x", 1], "passport": True}},
        {"key": "d", "payload": "", "named": {"department": {"bytes": "AA=="}}},
    ]
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    tally = employees.ok("store", "import", STORE, "-", input=text).json
    assert tally == {"read": 4, "applied": 4, "replaced": 0, "failed": 0}
    exported = employees.ok("store", "export", STORE)
    assert employees.ok("store", "export", STORE, "out.ndjson").json["exported"] == 4
    assert (employees.home / "out.ndjson").read_bytes() == exported.out
    employees.ok("store", "define", "copy", "--key", "department", "--key", "passport:unique")
    employees.ok("store", "import", "copy", "out.ndjson")
    assert employees.ok("store", "export", "copy").out == exported.out
    assert sorted(exported.lines, key=str) == sorted(rows, key=str)
    again = employees.ok("store", "import", "copy", "out.ndjson").json
    assert (again["applied"], again["replaced"]) == (4, 4)


@pytest.mark.spec("X-02", "X-03")
def test_lines_that_fail_are_counted_and_named(employees: Dex) -> None:
    """The others are applied, stderr names the first few lines, and the exit code is 1."""
    text = (
        '{"key":"a"}\nnot json\n\n{"key":"b","named":{"nope":1}}\n{"kee":"c"}\n{"key":"d","named":{"passport":1.5}}\n'
    )
    done = employees("store", "import", STORE, "-", input=text)
    assert done.code == 1
    assert done.json == {"read": 5, "applied": 1, "replaced": 0, "failed": 4}
    assert [line.split(": ")[0] for line in done.err.splitlines()] == ["-:2", "-:4", "-:5", "-:6", "error"]
    failed = employees("store", "import", STORE, "-", "-o", "json", input=text).error
    assert [failure["line"] for failure in failed["failures"]] == [2, 4, 5, 6]
    assert employees("store", "import", "no.such", "-", input=text).code == 1
    assert employees("store", "import", STORE, "missing.ndjson").code == 2


@pytest.mark.spec("X-02")
def test_csv_and_foreign_records_are_mapped(employees: Dex) -> None:
    """Fields become key, payload and named values; an empty cell is null; the whole record is the payload."""
    (employees.home / "p.csv").write_text('id,dept,note\n7,eng,"a, ""b"""\n8,,\n9,x\n')
    done = employees(
        "store", "import", STORE, "p.csv", "--key-field", "id", "--payload-field", "note", "--named", "department=dept"
    )
    assert done.json == {"read": 3, "applied": 2, "replaced": 0, "failed": 1}
    assert "p.csv:4: 2 cells under 3 columns" in done.err
    rows = employees.ok("store", "export", STORE).lines
    assert rows[0] == {"key": "7", "payload": 'a, "b"', "named": {"department": "eng"}}
    assert rows[1]["named"] in ({}, {"department": None})
    record = b'{"id": 10, "more": [1, 2]}'
    employees.ok("store", "import", STORE, "-", "--key-field", "id", input=record)
    assert employees.ok("store", "get", STORE, "10", "--raw").out == record
    assert employees("store", "import", STORE, "-", "--payload-field", "x").code == 2
    assert employees("store", "import", STORE, "-", "--format", "xml").code == 2


@pytest.mark.spec("X-01", "S-01")
def test_processes_share_a_file(dex: Dex) -> None:
    """Imports and puts of several processes at once all succeed (case 29, 4 by 250 rows)."""
    dex.ok("store", "define", "s")
    for part in range(4):
        rows = "".join(f'{{"key":"{part}-{number}"}}\n' for number in range(250))
        (dex.home / f"{part}.ndjson").write_text(rows)
    running = [dex.start("store", "import", "s", f"{part}.ndjson") for part in range(4)]
    running += [dex.start("store", "put", "s", f"single-{part}") for part in range(4)]
    for process in running:
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, b"")
    assert dex.ok("store", "describe", "s").json["rows"] == 1004


@pytest.mark.spec("S-06", "X-02")
def test_a_message_shows_values_as_json(employees: Dex) -> None:
    """As they are written on the command line, and not as Python has them; and the name of a wrong one is told."""
    value = '[null,true,"x",{"bytes":"/w=="}]'
    employees.ok("store", "put", STORE, "u1", "--named", f"passport:={value}")
    done = employees("store", "put", STORE, "u2", "--named", f"passport:={value}")
    assert f"row 'u1' already has passport = {value}, which is unique" in done.err
    done = employees("store", "put", STORE, "u2", "--named", 'passport:={"x": null}')
    assert "the value in 'passport:={\"x\": null}': expected text, integer" in done.err
    done = employees("store", "put", STORE, "u2", "--named", 'passport:={"bytes": "", "bytes": ""}')
    assert (done.code, done.err.endswith(" has $.bytes twice; give each name one value\n")) == (2, True)
