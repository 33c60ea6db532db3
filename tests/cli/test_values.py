"""Values on the command line: k=v, k:=JSON, k=@FILE, payloads and keys."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex.cli.values import assignment, assignments, key_from, metadata_from, payload_from, value_from
from dex.wcl.errors import InputError


@pytest.mark.spec("S-03", "X-02")
@pytest.mark.parametrize(
    ("argument", "name", "value"),
    [
        ("k=v", "k", "v"),
        ("k=", "k", ""),
        ("k=a=b", "k", "a=b"),
        ("k=1", "k", "1"),
        ("level:=3", "level", 3),
        ("ok:=true", "ok", True),
        ("none:=null", "none", None),
        ("tags:=" + '["eng",3]', "tags", ["eng", 3]),
        ('b:={"bytes":"AP8="}', "b", b"\x00\xff"),
        ("big:=9007199254740993", "big", 9007199254740993),
        ("eu:region=x", "eu:region", "x"),
    ],
)
def test_an_assignment_keeps_the_type_that_is_written(argument: str, name: str, value: object) -> None:
    """`=` gives text and `:=` gives JSON's own type."""
    found = assignment(argument)
    assert found == (name, value)
    assert type(found[1]) is type(value)


@pytest.mark.spec("X-03")
@pytest.mark.parametrize("argument", ["", "k", "=v", ":=1", "k:=", "k:=nope", "k:=NaN", "k:=1e400", "k=@/no/such"])
def test_what_is_no_assignment_is_a_usage_error(argument: str) -> None:
    """A missing name or value, wrong JSON and a missing file are told as input errors."""
    with pytest.raises(InputError):
        assignment(argument)


def test_an_at_sign_reads_bytes_of_a_file(tmp_path: Path) -> None:
    """`k=@FILE` and a payload of `@FILE` are the file's bytes, also where they are not UTF-8."""
    file = tmp_path / "with space.bin"
    file.write_bytes(b"\x00\xff\n")
    assert assignment(f"k=@{file}") == ("k", b"\x00\xff\n")
    assert payload_from(f"@{file}") == b"\x00\xff\n"


def test_a_name_that_comes_twice_is_refused() -> None:
    """Two values for one name are an error and not the last one."""
    with pytest.raises(InputError, match="'k' is given twice"):
        assignments(["k=1", "k=2"])


@given(st.binary(min_size=1).filter(lambda data: b"\0" not in data and not data.startswith((b":=", b"@"))))
def test_arguments_reach_a_row_byte_for_byte(data: bytes) -> None:
    """Whatever bytes the system hands over as an argument are the key's and the payload's bytes."""
    argument = os.fsdecode(data)
    assert key_from(argument) == data
    if data != b"-":
        assert payload_from(argument) == data


@pytest.mark.parametrize(("argument", "key"), [(':="a\\u0000b"', b"a\x00b"), (':={"bytes":"AP8="}', b"\x00\xff")])
def test_a_key_that_no_argument_can_hold_is_written_as_json(argument: str, key: bytes) -> None:
    """A key with a NUL or without UTF-8 is given after `:=`."""
    assert key_from(argument) == key


def test_a_key_is_no_number() -> None:
    """A typed key other than text or bytes is refused."""
    with pytest.raises(InputError, match="neither text nor bytes"):
        key_from(":=3")


def test_a_value_that_stands_alone_is_text_or_typed() -> None:
    """`3` is text and `:=3` is a number."""
    assert (value_from("3"), value_from(":=3")) == ("3", 3)


def test_metadata_is_text() -> None:
    """A typed metadata entry is refused, naming it."""
    assert metadata_from(["a=b"]) == {"a": "b"}
    with pytest.raises(InputError, match="'a' is not text"):
        metadata_from(["a:=1"])
