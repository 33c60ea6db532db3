"""`dex feed`, and stores over feeds."""

import json
import signal

import pytest

from tests.acceptance.conftest import Dex


@pytest.mark.spec("F-01", "W-11")
def test_records_are_appended_paged_and_followed(dex: Dex) -> None:
    """append gives the position, page the records and where the next one starts, tail stops after N."""
    assert dex.ok("feed", "define", "f").json["status"] == "created"
    assert dex.ok("feed", "append", "f", "k1", '{"d":"eng"}', "--metadata", "pp=P1").json["seq"] == 1
    assert dex.ok("feed", "append", "f", "k1", "--null").json["seq"] == 2
    page = dex.ok("feed", "page", "f", "--limit", "1").json
    assert page["records"] == [{"seq": 1, "key": "k1", "metadata": {"pp": "P1"}, "payload": '{"d":"eng"}'}]
    last = dex.ok("feed", "page", "f", "--after", str(page["next"])).json
    assert ([record["payload"] for record in last["records"]], last["next"]) == ([None], None)
    assert [record["seq"] for record in dex.ok("feed", "tail", "f", "--after", "0", "-n", "2").lines] == [1, 2]
    assert [feed["name"] for feed in dex.ok("feed", "list").json] == ["f"]
    assert dex("feed", "append", "f", "k", "x", "--null").code == 2
    assert dex("feed", "append", "nope", "k", "x").code == 1


@pytest.mark.spec("F-01")
def test_tail_follows_new_records_until_it_is_interrupted(dex: Dex) -> None:
    """A record that another process appends is written at once; Ctrl-C ends with one line and 130."""
    dex.ok("feed", "define", "f")
    tail = dex.start("feed", "tail", "f", "--after", "0")
    assert tail.stdout is not None
    dex.ok("feed", "append", "f", "k", "v")
    assert json.loads(tail.stdout.readline())["key"] == "k"
    tail.send_signal(signal.SIGINT)
    _, err = tail.communicate(timeout=10)
    assert (tail.returncode, err) == (130, b"cancelled\n")


@pytest.mark.spec("F-02", "F-03", "F-06", "F-07", "W-02")
def test_a_store_over_a_feed_is_complete_when_define_and_rebuild_return(dex: Dex) -> None:
    """Every extractor, a deleted row, a lost unique claim; the same rows after a rebuild."""
    dex.ok("feed", "define", "f")
    lines = [
        {"key": "u1", "metadata": {"pp": "P1"}, "payload": '{"a": {"b": "eng"}}'},
        {"key": "u2", "metadata": {"pp": "P1"}, "payload": "not JSON"},
        {"key": "u3", "payload": "x"},
        {"key": "u3", "payload": None},
        {"key": "u4", "payload": 5},
    ]
    done = dex("feed", "import", "f", "-", input="".join(f"{json.dumps(line)}\n" for line in lines))
    assert (done.code, done.json["applied"], done.json["failed"]) == (1, 4, 1)
    keys = ["--key", "pp:unique=metadata:pp", "--key", "d=json:a.b", "--key", "id=record_key"]
    defined = dex.ok("store", "define", "s", "--from-feed", "f", *keys).json
    assert (defined["stage"], defined["rows"], defined["unique_conflicts"]) == ("active", 2, 1)
    assert [row["key"] for row in dex.ok("store", "get-by", "s", "d", "eng").json["rows"]] == ["u1"]
    before = dex.ok("store", "export", "s").out
    dex.ok("store", "rebuild", "s")
    assert dex.ok("store", "describe", "s").json["stage"] == "active"
    assert dex.ok("store", "export", "s").out == before
    assert dex("feed", "drop", "f", "--yes").code in (1, 3)
    assert dex("store", "put", "s", "k").code == 1


@pytest.mark.spec("F-01", "X-03")
@pytest.mark.parametrize("after", ["99999999999999999999", "-5"])
def test_a_position_that_there_cannot_be_is_refused(dex: Dex, after: str) -> None:
    """It is neither the first position nor an error of the database."""
    dex.ok("feed", "define", "f")
    page = f'{{"command":"page_history","flow_id":"x","after":{after}}}'
    pages = ["feed", "page", "f", "--after", after], ["feed", "tail", "f", "--after", after]
    for code, args in ((2, pages[0]), (2, pages[1]), (1, ["command", page])):
        done = dex(*args)
        assert (done.code, done.out, done.err.count("\n")) == (code, b"", 1)
        assert f"after is {after}, and 0 to " in done.err


@pytest.mark.spec("F-01", "X-02")
def test_an_export_imports_to_the_same_records(dex: Dex) -> None:
    """Any bytes, metadata and deletions, over several pages, to a file and to a pipe."""
    dex.ok("feed", "define", "f")
    dex.ok("feed", "define", "g")
    lines = [{"key": f"k{number}", "metadata": {"n": str(number)}, "payload": "x" * number} for number in range(600)]
    lines += [{"key": {"bytes": "/w=="}, "payload": {"bytes": "AP8="}}, {"key": "k1", "payload": None}]
    dex.ok("feed", "import", "f", "-", input="".join(f"{json.dumps(line)}\n" for line in lines))
    assert dex.ok("feed", "export", "f", "f.ndjson").json == {"exported": 602, "file": "f.ndjson"}
    exported = (dex.home / "f.ndjson").read_bytes()
    assert dex.ok("feed", "export", "f").out == exported
    last = {"seq": 602, "key": "k1", "metadata": {}, "payload": None}
    assert json.loads(exported.splitlines()[-1]) == last
    dex.ok("feed", "import", "g", "f.ndjson")
    assert dex.ok("feed", "export", "g").out == exported


@pytest.mark.spec("F-01", "X-03")
def test_an_export_that_fails_leaves_no_file(dex: Dex) -> None:
    """There is no such feed; and one that is empty gives an empty file."""
    dex.ok("feed", "define", "f")
    done = dex("feed", "export", "nope", "out.ndjson")
    assert (done.code, (dex.home / "out.ndjson").exists()) == (1, False)
    assert dex.ok("feed", "export", "f", "out.ndjson").json["exported"] == 0
    assert (dex.home / "out.ndjson").read_bytes() == b""
