"""The declaration contract, the same through every door, and where it was broken."""

import msgspec
import pytest

from dex.wcl import ast, commands
from dex.wcl.errors import InvalidCommand
from dex.wcl.parser import parse
from dex.wcl.wire import decode_commands

ELEVEN = [f"k{number}" for number in range(11)]


def refused(text: str) -> InvalidCommand:
    """The error that a well-formed statement gives."""
    with pytest.raises(InvalidCommand) as caught:
        parse(text)
    return caught.value


@pytest.mark.spec("W-07")
@pytest.mark.parametrize(
    ("names", "message"),
    [
        (ELEVEN, "11 named keys are declared, and 10 is the limit"),
        (["a", "b", "a"], "named key 'a' is declared twice"),
        ([""], "a named key cannot be blank"),
        (["  "], "a named key cannot be blank"),
    ],
)
def test_wcl_and_typed_commands_refuse_alike(names: list[str], message: str) -> None:
    text = "DEFINE STATESTORE s KEYS " + ", ".join(f'"{name}"' for name in names)
    document = {"command": "define_state_store", "name": "s", "named_keys": [{"name": name} for name in names]}
    with pytest.raises(InvalidCommand) as typed:
        decode_commands(msgspec.json.encode(document))
    assert str(refused(text)) == str(typed.value)
    assert message in str(typed.value)
    assert "10 keys with distinct names" in str(typed.value)


@pytest.mark.spec("W-07")
def test_ten_keys_are_accepted() -> None:
    [parsed] = parse("DEFINE STATESTORE s KEYS " + ", ".join(ELEVEN[:10]))
    assert isinstance(parsed.command, commands.DefineStateStore)
    assert len(parsed.command.named_keys) == 10


@pytest.mark.spec("W-06", "W-07", "F-05")
@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("DEFINE STATESTORE s KEYS\n a,\n b,\n a", (4, 2), "declared twice"),
        ("DEFINE STATESTORE s KEYS " + ",\n".join(ELEVEN), (11, 1), "11 named keys"),
        ('DEFINE STATESTORE s KEYS a, ""', (1, 29), "cannot be blank"),
        ("DEFINE STATESTORE s FROM FEED f KEYS a = RECORD_KEY, b", (1, 54), "has no extractor"),
        ("DEFINE STATESTORE s KEYS a, b = METADATA 'x'", (1, 29), "has an extractor"),
        ("DEFINE STATESTORE s FROM FEED f KEYS a = METADATA ''", (1, 38), "needs the name of an entry"),
        ("DEFINE STATESTORE s FROM FEED f KEYS a = JSON 'a..b'", (1, 38), "not a dotted JSON path"),
        ("DEFINE STATESTORE s FROM FEED f KEYS a = JSON 'a\nb'", (1, 38), "has a control character"),
        ('SHOW FEEDS;\n DEFINE FEED "a..b"', (2, 2), "has an empty segment"),
        ('DESCRIBE STATESTORE ""', (1, 1), "a store name cannot be blank"),
        ('DROP FEED " "', (1, 1), "a feed name cannot be blank"),
        ("DROP STATESTORE\n" + "x" * 256, (1, 1), "has 256 bytes, and 255 is the limit"),
    ],
)
def test_a_refused_declaration_has_a_place(text: str, place: tuple[int, int], message: str) -> None:
    error = refused(text)
    assert message in str(error)
    assert (error.line, error.column) == place
    assert error.source_line == text.split("\n")[place[0] - 1]


@pytest.mark.spec("W-07")
def test_one_refused_statement_refuses_the_script() -> None:
    assert refused("SHOW FEEDS; DEFINE STATESTORE s KEYS a, a; SHOW FEEDS").named_key == "a"


@pytest.mark.spec("W-08")
def test_positions_do_not_count_when_nodes_are_compared() -> None:
    here, there = ast.Place(1, 1, 0, 9), ast.Place(2, 5, 30, 39)
    assert ast.DescribeFeed("a", here) == ast.DescribeFeed("a", there)
    assert hash(ast.Key("a", None, False, here)) == hash(ast.Key("a", None, False, there))
    assert ast.DescribeFeed("a", here) != ast.DescribeFeed("b", here)


@pytest.mark.spec("W-08")
def test_every_statement_command_can_be_written() -> None:
    stores = "DEFINE STATESTORE a; DROP STATESTORE a; DESCRIBE STATESTORE a; SHOW STATESTORES;"
    feeds = "DEFINE FEED a; DROP FEED a; DESCRIBE FEED a; SHOW FEEDS"
    spelled = {type(parsed.command) for parsed in parse(stores + feeds)}
    assert spelled == set(commands.Statement.__args__)
