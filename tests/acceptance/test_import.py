"""`dex store import` and `export`: nothing is lost in silence, and what is wrong is told once and with its place."""

import os
import signal

import pytest

from tests.acceptance.conftest import Dex

STORE = "accounts.employees"
MAPPED = ("--key-field", "id", "--named", "department=dept")


@pytest.mark.spec("X-02", "X-03")
@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--key-field", "id", "--named", "department=deppt"), "did you mean dept?"),
        (("--key-field", "idd"), "did you mean id?"),
        (("--key-field", "id", "--payload-field", "nte"), "did you mean note?"),
        (("--key-field", "id", "--named", "departmnt=dept"), "did you mean department?"),
        ((), "--key-field"),
    ],
    ids=["named", "key", "payload", "undeclared", "unmapped"],
)
def test_a_field_that_is_not_there_is_refused_before_the_first_row(
    employees: Dex, options: tuple[str, ...], hint: str
) -> None:
    """Exit 2 with the nearest name, and the rows keep the named values that they have."""
    (employees.home / "p.csv").write_text("id,dept,note\n7,eng,x\n")
    employees.ok("store", "import", STORE, "p.csv", *MAPPED)
    before = employees.ok("store", "export", STORE).out
    done = employees("store", "import", STORE, "p.csv", *options)
    assert (done.code, done.out, done.err.count("\n")) == (2, b"", 1)
    assert hint in done.err
    assert employees.ok("store", "export", STORE).out == before


@pytest.mark.spec("X-02", "X-03")
def test_a_record_without_a_mapped_field_fails_alone(employees: Dex) -> None:
    """Records of ndjson differ, so each is judged alone: one that lacks the field fails, and null is null."""
    text = '{"id": "a", "dept": "eng"}\n{"id": "b", "deptt": "eng"}\n{"id": "c", "dept": null}\n'
    done = employees("store", "import", STORE, "-", *MAPPED, input=text)
    assert (done.code, done.json["applied"], done.json["failed"]) == (1, 2, 1)
    assert "-:2: there is no field 'dept'; did you mean deptt?" in done.err
    assert [row["key"] for row in employees.ok("store", "export", STORE).lines] == ["a", "c"]


@pytest.mark.spec("X-02", "X-03")
@pytest.mark.parametrize("store", ["no.such", "fed"])
def test_a_store_that_takes_no_rows_is_told_once(dex: Dex, store: str) -> None:
    """A store that is not there, or that a feed fills, is refused before the file is read."""
    dex.ok("wcl", "DEFINE FEED f; DEFINE STATESTORE fed FROM FEED f")
    done = dex("store", "import", store, "-", input='{"key": "a"}\n' * 3)
    assert (done.code, done.out, done.err.count("\n")) == (1, b"", 1)


@pytest.mark.spec("X-02", "X-03")
@pytest.mark.parametrize(
    ("data", "told"),
    [(b"\xe9d,v\n1,2\n", "byte 1 of it is 0xe9"), ("id,v\n1,2\n".encode("utf-16"), "UTF-16")],
    ids=["latin-1", "utf-16"],
)
def test_a_header_that_is_not_utf8_is_refused(employees: Dex, data: bytes, told: str) -> None:
    """Exit 2 with file, line, byte and what to do; never a bug in dex."""
    (employees.home / "p.csv").write_bytes(data)
    done = employees("store", "import", STORE, "p.csv", "--key-field", "v")
    assert (done.code, done.out) == (2, b"")
    assert all(word in done.err for word in ("p.csv:1: ", told, "save it as UTF-8"))


@pytest.mark.spec("X-02", "X-03")
def test_lines_that_are_not_utf8_fail_and_are_not_changed(employees: Dex) -> None:
    """What is in another encoding is a failed line, whichever field it stands in; nothing becomes U+FFFD."""
    (employees.home / "p.csv").write_bytes(b"id,dept\nok,eng\n\xe9,eng\nb,\xe9ng\n")
    done = employees("store", "import", STORE, "p.csv", *MAPPED)
    assert (done.code, done.json["applied"], done.json["failed"]) == (1, 1, 2)
    assert "p.csv:3: the cell of 'id' is not UTF-8: byte 1 of it is 0xe9" in done.err
    assert "p.csv:4: the cell of 'dept' is not UTF-8" in done.err
    done = employees("store", "import", STORE, "-", input=b'{"key": "\xe9"}\n{"key": "good"}\n')
    assert (done.code, done.json["applied"]) == (1, 1)
    assert "-:1: this is not UTF-8: byte 10 is 0xe9" in done.err
    assert "\ufffd" not in employees.ok("store", "export", STORE).text


@pytest.mark.spec("X-03")
def test_messages_name_the_field_and_count_well(employees: Dex) -> None:
    """The field that is wrong is told, also under -q; "the others were applied" only where there are others."""
    (employees.home / "p.csv").write_text("id,dept\n,eng\n")
    done = employees("store", "import", STORE, "p.csv", *MAPPED, "-q")
    assert done.err == (
        "p.csv:2: field 'id': it is empty; give every row a key of 1 to 4096 bytes\n"
        "error: 1 of 1 line of p.csv failed; correct them and import again\n"
    )
    text = '{"key": "a", "payload": {"x": 1}}\n{"key": null}\n{"key": "b", "named": {"department": {"x": 1}}}\n'
    done = employees("store", "import", STORE, "-", input=text)
    assert [line.split("'")[1] for line in done.err.splitlines()[:3]] == ["payload", "key", "department"]
    employees.ok("feed", "define", "f")
    assert "replaced" not in employees.ok("feed", "import", "f", "-", input='{"key": "a"}').json


@pytest.mark.spec("X-02")
@pytest.mark.parametrize("name", ["out.csv", "out.CSV", "--format=csv"])
def test_an_export_in_csv_imports_to_the_same_rows(employees: Dex, name: str) -> None:
    """The file's name or --format says that it is CSV; bytes, nulls and what is not set come back."""
    rows = [
        '{"key":"a","payload":"x","named":{"department":null,"passport":3}}',
        '{"key":"b","payload":{"bytes":"AP8="},"named":{"department":["eng",3],"passport":"3"}}',
        '{"key":{"bytes":"/w=="},"payload":"","named":{"department":{"bytes":"AA=="}}}',
        '{"key":"c","payload":":=x","named":{"department":"","passport":false}}',
    ]
    employees.ok("store", "import", STORE, "-", input="\n".join(rows))
    exported = employees.ok("store", "export", STORE, name)
    if name.startswith("--"):
        (employees.home / "out.csv").write_bytes(exported.out)
    file = employees.home / (name if name.startswith("out") else "out.csv")
    assert file.read_text().startswith("key,payload,named.department,named.passport\n")
    employees.ok("store", "define", "copy", "--key", "department", "--key", "passport:unique")
    employees.ok("store", "import", "copy", str(file))
    assert employees.ok("store", "export", "copy").out == employees.ok("store", "export", STORE).out
    shown = employees.ok("store", "iterate", STORE, "-o", "csv").out
    assert shown == file.read_bytes()


@pytest.mark.spec("X-02", "X-03")
def test_an_export_that_cannot_be_written_names_the_file_that_was_given(employees: Dex) -> None:
    """The name of the part that is written meanwhile is nobody's business; a directory is no file."""
    done = employees("store", "export", STORE, "none/out.ndjson")
    assert (done.code, done.err.count("partial")) == (1, 0)
    assert "none/out.ndjson: No such file or directory" in done.err
    done = employees("store", "export", STORE, ".")
    assert (done.code, done.err) == (2, "error: . is a directory; name a file in it\n")
    assert employees("store", "export", STORE, "--format", "cvs").err.endswith("did you mean csv?\n")
    assert list(employees.home.glob(".*partial")) == []


@pytest.mark.spec("X-02", "X-03")
def test_columns_of_csv_are_those_of_the_store(employees: Dex) -> None:
    """Whichever rows an answer has, a script finds the same columns, and the header is there without any row."""
    header = b"key,payload,named.department,named.passport\r\n"
    employees.ok("store", "put", STORE, "a", "--named", "passport=P1")
    for args in (("get-by", STORE, "department", "none"), ("page", STORE, "--after", "z")):
        assert employees.ok("store", *args, "-o", "csv").out == header
    for args in (("page", STORE), ("get-by", STORE, "passport", "P1"), ("get", STORE, "a"), ("iterate", STORE)):
        assert employees.ok("store", *args, "-o", "csv").out == header + b'a,"",,P1\r\n'
    table = employees.ok("store", "page", STORE, "-o", "table").text.splitlines()
    assert table[0].split() == ["key", "payload", "named.department", "named.passport"]


@pytest.mark.spec("X-03")
def test_an_interrupted_import_says_how_far_it_came(employees: Dex) -> None:
    """What was applied stays, and the person is told how much it was."""
    process = employees.start("store", "import", STORE, "/dev/stdin", stdin_pipe=True)
    assert process.stdin is not None
    process.stdin.write(b"".join(b'{"key":"%d"}\n' % number for number in range(2500)))
    process.stdin.flush()
    while employees.ok("store", "describe", STORE).json["rows"] < 2000:
        pass
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err.endswith(b" lines read so far were applied for certain\ncancelled\n")
    assert err.startswith(b"2000 of the ")


@pytest.mark.spec("X-02")
def test_an_export_replaces_the_file_that_a_link_means_and_keeps_its_permissions(employees: Dex) -> None:
    """A link stays one, whatever its target's permissions; another file that looks like a part is left alone."""
    employees.ok("store", "put", STORE, "a", "x")
    target, link, other = (employees.home / name for name in ("target", "link", ".link.partial"))
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    other.write_text("mine")
    employees.ok("store", "export", STORE, "link")
    assert link.is_symlink()
    assert (b'"a"' in target.read_bytes(), target.stat().st_mode & 0o777) == (True, 0o640)
    assert (other.read_text(), list(employees.home.glob(".dex-*"))) == ("mine", [])
    employees.ok("store", "export", STORE, "new")
    other.unlink()
    other.touch()
    assert (employees.home / "new").stat().st_mode == other.stat().st_mode


@pytest.mark.spec("X-02")
def test_an_export_to_a_pipe_is_written_into_it(employees: Dex) -> None:
    """A named pipe stays one and its reader gets the rows; a name of standard output is standard output."""
    employees.ok("store", "put", STORE, "a", "x")
    pipe = employees.home / "pipe"
    os.mkfifo(pipe)
    process = employees.start("store", "export", STORE, "pipe")
    rows = pipe.read_bytes()
    process.communicate(timeout=30)
    assert (process.returncode, pipe.is_fifo()) == (0, True)
    assert rows == employees.ok("store", "export", STORE).out
    link = employees.home / "link"
    link.symlink_to("/proc/self/fd/1")
    assert employees.ok("store", "export", STORE, "link").out == rows
    with (employees.home / "redirected").open("wb") as out:
        employees.start("store", "export", STORE, "link", stdout=out).communicate(timeout=30)
    assert (employees.home / "redirected").read_bytes() == rows


@pytest.mark.spec("X-02", "X-03")
@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ('key,d\na,"un\nb,2\nc,3\n', 2, "a quote is never closed, so that all up to line 4 counts as one cell"),
        ('key,d\nb,2\n"a,1\n', 3, "a quote is never closed"),
        ('key,d\na,"x"y\nb,2\n', 2, "this is not CSV: ',' expected after '\"'"),
        ("key,d\nb,2\na\n", 3, "1 cell under 2 columns"),
    ],
)
def test_csv_that_is_broken_fails_with_its_line(employees: Dex, text: str, line: int, told: str) -> None:
    """No row is made of what a quote has swallowed or of cells that are missing."""
    (employees.home / "x.csv").write_text(text)
    options = ("--key-field", "key", "--named", "department=d")
    done = employees("store", "import", STORE, "x.csv", *options)
    assert (done.code, done.json["failed"]) == (1, 1)
    assert done.err.startswith(f"x.csv:{line}: ")
    assert told in done.err
    assert employees("store", "get", STORE, "a").code == 1


@pytest.mark.spec("X-02", "X-03")
def test_json_that_is_nested_too_deeply_fails_alone(employees: Dex) -> None:
    """The lines before and after it are applied, and the counts are told."""
    deep = "[" * 100_000 + "]" * 100_000
    lines = [f'{{"key":"{number}"}}' for number in range(1500)]
    lines += [f'{{"key":"deep","named":{{"department":{deep}}}}}', '{"key":"last"}']
    done = employees("store", "import", STORE, "-", input="\n".join(lines))
    assert (done.code, done.json) == (1, {"read": 1502, "applied": 1501, "replaced": 0, "failed": 1})
    assert done.err.startswith("-:1501: it is nested too deeply")
    assert employees.ok("store", "get", STORE, "last").json["key"] == "last"
    for depth in (300, 500, 900, 20_000):
        deep = "[" * depth + "1" + "]" * depth
        (employees.home / "deep").write_text(f'{{"command":"put_row","store":"s","key":"a","named":{{"k":{deep}}}}}')
        for args in (("command", "@deep"), ("store", "put", STORE, "a", "x", "--named", f"department:={deep}")):
            done = employees(*args)
            assert done.code == (2 if depth > 300 else 1), done.err
            assert "is not a type" in done.err or "nested too deeply" in done.err


@pytest.mark.spec("X-02", "X-03")
def test_a_record_with_a_name_twice_fails_alone(employees: Dex) -> None:
    """Which of the values counts is not for dex to say; with --key-field what the fields hold is kept as it is."""
    lines = ['{"key": "a", "key": "b"}', '{"key": "c", "named": {"passport": 1, "passport": 2}}', '{"key": "d"}']
    done = employees("store", "import", STORE, "-", input="\n".join(lines))
    assert done.json == {"read": 3, "applied": 1, "replaced": 0, "failed": 2}
    assert done.err.startswith("-:1: the record has $.key twice; give each name one value\n-:2: the record has $.named")
    record = '{"key": "e", "more": {"x": 1, "x": 2}}'
    employees.ok("store", "import", STORE, "-", "--key-field", "key", input=record)
    assert employees.ok("store", "get", STORE, "e", "--raw").text == record
    employees.ok("feed", "define", "f")
    done = employees("feed", "import", "f", "-", input=lines[0])
    assert "-:1: the record has $.key twice" in done.err


@pytest.mark.spec("X-03", "X-04")
@pytest.mark.parametrize("kind", ["store", "feed"])
def test_the_first_lines_that_fail_are_named(employees: Dex, kind: str) -> None:
    """By line, whether they cannot be read or cannot be applied; the others are counted."""
    employees.ok("feed", "define", "f")
    lines = [f'{{"key": "{number}"}}' for number in range(1, 1500)]
    refused = '{"key": "a", "named": {"nope": 1}}' if kind == "store" else '{"key": ""}'
    lines[2] = lines[1200] = refused
    lines[10:20] = ["junk"] * 10
    done = employees(kind, "import", STORE if kind == "store" else "f", "-", input="\n".join(lines))
    assert (done.code, done.json["applied"], done.json["failed"]) == (1, 1487, 12)
    *named, more, error = done.err.splitlines()
    assert [line.split(": ", 1)[0] for line in named] == ["-:3", "-:11", "-:12", "-:13", "-:14"]
    assert ("nope" if kind == "store" else "a key cannot be empty") in named[0]
    assert more == "… and 7 more"
    assert error.startswith("error: 12 of 1499 lines of - failed; the others were applied")
