"""Typed commands as JSON."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex.wcl import commands
from dex.wcl.commands import Command
from dex.wcl.errors import DexError, InputError, InvalidCommand
from dex.wcl.values import I64_MAX
from dex.wcl.wire import decode_commands, encode, to_json
from tests.wcl.strategies import ddl_commands, names
from tests.wcl.test_values import typed, values

keys = st.binary(min_size=1, max_size=20)
row_commands = st.one_of(
    st.builds(
        commands.PutRow,
        store=names,
        key=keys,
        payload=st.binary(max_size=20),
        named=st.dictionaries(names, values, max_size=3),
        mutation_id=st.none() | st.just("m-1"),
    ),
    st.builds(commands.GetRow, store=names, key=keys, strict=st.booleans()),
    st.builds(commands.GetBy, store=names, named_key=names, value=values),
    st.builds(commands.DeleteRow, store=names, key=keys),
    st.builds(commands.PageRows, store=names, limit=st.integers(1, 10_000), after=st.none() | keys),
    st.builds(
        commands.AppendRecords,
        feed=names,
        records=st.lists(
            st.builds(
                commands.FeedRecord,
                key=keys,
                payload=st.none() | st.binary(max_size=20),
                metadata=st.dictionaries(names, names, max_size=2),
            ),
            min_size=1,
            max_size=3,
        ),
    ),
    st.builds(commands.PageRecords, feed=names, after=st.integers(0, I64_MAX)),
)


@pytest.mark.spec("W-09", "S-03", "S-04")
@given(st.lists(ddl_commands | row_commands, max_size=3))
def test_commands_are_lossless_in_json(wanted: list[Command[object]]) -> None:
    found, was_list = decode_commands(msgspec.json.encode(to_json(wanted)))
    assert was_list
    assert found == wanted
    for one, other in zip(found, wanted, strict=True):
        if isinstance(one, commands.GetBy) and isinstance(other, commands.GetBy):
            assert typed(one.value) == typed(other.value)


@pytest.mark.spec("W-09")
def test_the_spec_s_example_is_a_command() -> None:
    text = """[{"command": "define_state_store", "name": "accounts.employees", "source": {"kind": "manual"},
                "named_keys": [{"name": "passport", "unique": true}]}]"""
    assert decode_commands(text) == (
        [commands.DefineStateStore(name="accounts.employees", named_keys=[commands.NamedKey("passport", True)])],
        True,
    )


@pytest.mark.spec("W-09")
def test_one_command_is_not_a_list() -> None:
    assert decode_commands(b'{"command": "show_feeds"}') == ([commands.ShowFeeds()], False)
    assert encode(commands.DropFeed(name="a")) == b'{"command":"drop_feed","name":"a"}'


@pytest.mark.spec("W-09")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"command": "define_statestore"}', "did you mean define_state_store?"),
        ('{"command": "frobnicate"}', "known: "),
        ('{"command": 1}', "unknown command 1"),
        ('{"command": true}', "unknown command true at $"),
        ('{"command": [null]}', "unknown command [null] at $"),
        ('{"command": null}', "Expected `string`, got `null` - at `$.command`"),
        ('{"command": "drop_feed", "name": "a", "name": "b"}', "the command has $.name twice"),
        ('[{"command": "start_flow", "type": "T", "input": {"a": [{"b": 1, "b": 2}]}}]', "$[0].input.a[0].b twice"),
        ('{"command": []}', "unknown command"),
        ('{"command": {"a": "b"}}', "unknown command"),
        ("{}", "not a command"),
        ("[1]", "not a command"),
        ('[{"command": "show_feeds"}, {"command": "drop_feed"}]', "$[1]"),
        ('{"command": "show_feeds", "x": 1}', "unknown field `x`"),
        ('{"command": "drop_feed", "name": 1}', "$.name"),
        ('{"command": "drop_feed", "name": "a"', "not JSON"),
        ("", "not JSON"),
        ("DROP FEED a", "not JSON"),
    ],
)
def test_what_is_no_command_is_told_with_its_path(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        decode_commands(text)
    assert message in str(caught.value)


@pytest.mark.spec("W-09", "X-02")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"command": "put_row", "store": "s", "key": [null]}', 'or {"bytes": "<base64>"}, found [null], at $.key'),
        ('{"command": "put_row", "store": "s", "key": "a", "payload": true}', "found true, at $.payload"),
        ('[{"command": "delete_row", "store": "s", "key": {"bytes": "é"}}]', "'é' is not base64, at $[0].key"),
        (
            '{"command": "put_row", "store": "s", "key": "a", "named": {"j": {"bytes": ""}, "k": {"x": null}}}',
            'found {"x":null}, at $.named.k',
        ),
        ('{"command": "append_records", "feed": "f", "records": [{"key": 1}]}', "found 1, at $.records[0].key"),
    ],
)
def test_what_is_no_key_payload_or_value_is_told_with_its_path(text: str, message: str) -> None:
    """And the value as JSON has it."""
    with pytest.raises(InvalidCommand) as caught:
        decode_commands(text)
    assert message in str(caught.value)
    assert caught.value.status == 400


@pytest.mark.spec("S-03", "X-02")
def test_a_large_integer_is_exact() -> None:
    """Case 19."""
    text = '{"command": "get_by", "store": "s", "named_key": "k", "value": 9007199254740993}'
    [command], _ = decode_commands(text)
    assert isinstance(command, commands.GetBy)
    assert typed(command.value) == (int, 9007199254740993)
    assert b"9007199254740993" in encode(command)


@pytest.mark.spec("S-03")
@pytest.mark.parametrize(
    "number", ["1e400", "-1e400", "NaN", "Infinity", "1.5", "1e2", "9223372036854775808", "1" * 400]
)
def test_other_numbers_are_refused(number: str) -> None:
    """Case 19."""
    with pytest.raises((InputError, InvalidCommand)):
        decode_commands('{"command": "get_by", "store": "s", "named_key": "k", "value": ' + number + "}")


@pytest.mark.spec("W-09")
@given(st.binary(max_size=40) | st.text(max_size=40))
def test_any_other_document_is_an_error_of_ours(data: bytes | str) -> None:
    with suppress(DexError):
        decode_commands(data)


@pytest.mark.spec("W-09")
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["put_row", "get_by", "key"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["command", "store", "key", "value", "named", "bytes"]), inner, max_size=4
            )
        ),
        max_leaves=8,
    )
)
def test_any_json_is_a_command_or_an_error_of_ours(data: object) -> None:
    try:
        document = msgspec.json.encode(data)
    except (UnicodeEncodeError, OverflowError):
        return
    with suppress(DexError):
        decode_commands(document)
