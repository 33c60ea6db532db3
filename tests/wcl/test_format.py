"""Typed commands to canonical WCL and back."""

import pytest
from hypothesis import given

from dex.wcl import commands
from dex.wcl.commands import Command, FromFeed, Json, Metadata, NamedKey, RecordKey
from dex.wcl.errors import DexError, InvalidCommand
from dex.wcl.format import format_command, format_name
from dex.wcl.parser import parse
from dex.wcl.wire import command_from, to_json
from tests.wcl.strategies import any_text, ddl_commands


@pytest.mark.spec("W-08")
@given(ddl_commands)
def test_text_and_command_are_a_fixed_point(command: Command[object]) -> None:
    text = format_command(command)
    [parsed] = parse(text)
    assert parsed.command == command
    assert parsed.text == text
    assert format_command(parsed.command) == text


@pytest.mark.spec("W-08")
@given(any_text)
def test_whatever_text_is_wcl_prints_to_the_same_commands(text: str) -> None:
    try:
        parsed = parse(text)
    except DexError:
        return
    script = ";\n".join(format_command(statement.command) for statement in parsed)
    assert [statement.command for statement in parse(script)] == [statement.command for statement in parsed]


@pytest.mark.spec("W-08", "W-09")
@given(ddl_commands)
def test_a_command_from_text_and_one_from_json_are_the_same(command: Command[object]) -> None:
    assert command_from(to_json(parse(format_command(command))[0].command)) == command


@pytest.mark.spec("W-08")
@pytest.mark.parametrize(
    ("command", "text"),
    [
        (commands.ShowStateStores(), "SHOW STATESTORES"),
        (commands.ShowFeeds(), "SHOW FEEDS"),
        (commands.DescribeStateStore(name="a.keys"), 'DESCRIBE STATESTORE a."keys"'),
        (commands.DropStateStore(name="eu:orders", if_exists=True), 'DROP STATESTORE IF EXISTS "eu:orders"'),
        (commands.DefineFeed(name="a", if_not_exists=True), "DEFINE FEED IF NOT EXISTS a"),
        (commands.DropFeed(name="a"), "DROP FEED a"),
        (
            commands.DefineStateStore(
                name="a.t",
                source=FromFeed("a.ev"),
                named_keys=[
                    NamedKey("p", True, Metadata("pp")),
                    NamedKey("w", False, Json("it's.me")),
                    NamedKey("k", False, RecordKey()),
                ],
            ),
            "DEFINE STATESTORE a.t FROM FEED a.ev KEYS p = METADATA 'pp' UNIQUE, w = JSON 'it''s.me', k = RECORD_KEY",
        ),
    ],
)
def test_the_canonical_text(command: Command[object], text: str) -> None:
    assert format_command(command) == text


@pytest.mark.spec("W-04")
@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a.b-c", "a.b-c"),
        ("日本.größe", "日本.größe"),
        ("unique", '"unique"'),
        ("a-.b", '"a-".b'),
        ("a--b", '"a--b"'),
        ('say "hi"', '"say ""hi"""'),
        ("last name", '"last name"'),
        ("a..b", '"a..b"'),
        (".", '"."'),
    ],
)
def test_quotes_stand_where_they_are_needed(name: str, written: str) -> None:
    assert format_name(name) == written


@pytest.mark.spec("W-10")
def test_an_operation_on_rows_has_no_text() -> None:
    with pytest.raises(InvalidCommand, match="put_row has no WCL form"):
        format_command(commands.PutRow(store="a", key=b"k"))
