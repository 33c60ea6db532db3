"""WCL text to typed commands."""

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dex.wcl import commands
from dex.wcl.commands import FromFeed, Json, Manual, Metadata, NamedKey, RecordKey
from dex.wcl.errors import DexError, InvalidCommand, WclSyntaxError
from dex.wcl.lexemes import scan
from dex.wcl.parser import parse, parse_span
from dex.wcl.statements import split
from tests.wcl.strategies import VALID, any_text

DEFINE = commands.DefineStateStore


@pytest.mark.spec("W-01", "W-02", "W-03", "W-05", "W-11")
@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("DEFINE STATESTORE a.b", DEFINE(name="a.b", source=Manual())),
        ("DEFINE STATESTORE IF NOT EXISTS a.b", DEFINE(name="a.b", if_not_exists=True)),
        (
            "DEFINE STATESTORE accounts.employees KEYS department, passport UNIQUE;",
            DEFINE(name="accounts.employees", named_keys=[NamedKey("department"), NamedKey("passport", True)]),
        ),
        (
            "DEFINE STATESTORE a.t FROM FEED a.ev KEYS p = METADATA 'pp' UNIQUE, d = JSON 'dept', k = RECORD_KEY",
            DEFINE(
                name="a.t",
                source=FromFeed("a.ev"),
                named_keys=[
                    NamedKey("p", True, Metadata("pp")),
                    NamedKey("d", False, Json("dept")),
                    NamedKey("k", False, RecordKey()),
                ],
            ),
        ),
        ("DEFINE STATESTORE a FROM FEED f", DEFINE(name="a", source=FromFeed("f"))),
        ("DROP STATESTORE a.b", commands.DropStateStore(name="a.b")),
        ("DROP STATESTORE IF EXISTS a.b", commands.DropStateStore(name="a.b", if_exists=True)),
        ("DESCRIBE STATESTORE a.b", commands.DescribeStateStore(name="a.b")),
        ("SHOW STATESTORES", commands.ShowStateStores()),
        ("DEFINE FEED a.b", commands.DefineFeed(name="a.b")),
        ("DEFINE FEED IF NOT EXISTS a.b", commands.DefineFeed(name="a.b", if_not_exists=True)),
        ("DROP FEED a.b", commands.DropFeed(name="a.b")),
        ("DROP FEED IF EXISTS a.b", commands.DropFeed(name="a.b", if_exists=True)),
        ("DESCRIBE FEED a.b", commands.DescribeFeed(name="a.b")),
        ("SHOW FEEDS", commands.ShowFeeds()),
    ],
)
def test_every_statement_becomes_its_command(text: str, command: object) -> None:
    assert [parsed.command for parsed in parse(text)] == [command]


@pytest.mark.spec("W-04")
@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("a", "a"),
        ("Accounts.Employees", "Accounts.Employees"),
        ("eu-west.orders-2", "eu-west.orders-2"),
        ("größe.日本", "größe.日本"),
        ("2024.q1", "2024.q1"),
        ("app.feed", "app.feed"),
        ("a.keys", "a.keys"),
        ("keys.a", "keys.a"),
        ("keys-a", "keys-a"),
        ("keysa", "keysa"),
        ('keys."a"', "keys.a"),
        ('"keys"', "keys"),
        ('"eu:orders"', "eu:orders"),
        ('"say ""hi"""', 'say "hi"'),
        ('"a.b".c', "a.b.c"),
        ('a."it\'s; -- fine"', "a.it's; -- fine"),
        ("a-- a comment", "a"),
        ("a-b--c", "a-b"),
    ],
)
def test_names(written: str, name: str) -> None:
    for statement in ("DESCRIBE STATESTORE", "DROP STATESTORE IF EXISTS", "DEFINE FEED", "DROP FEED"):
        command = command_of(f"{statement} {written}")
        assert command.name == name
        assert type(command.name) is str
    [key] = command_of(f"DEFINE STATESTORE s KEYS {written}\n").named_keys
    assert key.name == name


def command_of(text: str) -> Any:
    """The one command of a text."""
    [parsed] = parse(text)
    return parsed.command


@pytest.mark.spec("W-04")
@pytest.mark.parametrize("written", ["keys", "UNIQUE", "From", "json", "record_key", "if", "Feeds"])
def test_a_lone_keyword_is_a_name_in_quotes_only(written: str) -> None:
    """Case 5: the error says which word to quote, and the quoted form works in every statement."""
    for statement in ("DESCRIBE STATESTORE", "DROP FEED", "DEFINE STATESTORE s KEYS", "DEFINE STATESTORE s FROM FEED"):
        assert parse(f'{statement} "{written}"')
        with pytest.raises(WclSyntaxError) as caught:
            parse(f"{statement} {written};")
        if written != "if" or "KEYS" in statement:
            wanted = f'{written} is a keyword; to use it as a name write "{written}"'
            assert wanted in str(caught.value)


@pytest.mark.spec("W-04")
@pytest.mark.parametrize(
    ("written", "value"),
    [("'pp'", "pp"), ("'it''s'", "it's"), ("''''", "'"), ("'x;y'", "x;y"), ("'-- no'", "-- no"), ("'/*'", "/*")],
)
def test_strings(written: str, value: str) -> None:
    """Case 2: a semicolon or comment sign in a string is part of it."""
    command = command_of(f"DEFINE STATESTORE a.t FROM FEED a.ev KEYS p = METADATA {written} UNIQUE;")
    assert command.named_keys == [NamedKey("p", True, Metadata(value))]


@pytest.mark.spec("W-04")
@pytest.mark.parametrize(
    "text", ["", "  \n", ";", ";;;", "-- only a comment", "/* a */ ; -- b\n;", "\ufeff", "\ufeff;"]
)
def test_empty_statements_are_fine(text: str) -> None:
    assert parse(text) == []


@pytest.mark.spec("W-04")
@pytest.mark.parametrize("comment", ["-- it's a note; 'x\n", "/* don't; \" */", "/* a\n * b\n **/", "/**/", "--\n"])
def test_nothing_in_a_comment_counts(comment: str) -> None:
    """Case 1."""
    assert len(parse(f"{comment} SHOW FEEDS;")) == 1
    assert len(parse(f"SHOW {comment} FEEDS {comment}")) == 1


@pytest.mark.spec("W-04")
@pytest.mark.parametrize("text", ["DROPSTATESTORE a.b", "DROP STATESTOREa.b", "SHOWSTATESTORES", "DROP STATESTORE-a"])
def test_keywords_are_whole_words(text: str) -> None:
    """Case 4."""
    with pytest.raises(WclSyntaxError):
        parse(text)


@pytest.mark.spec("W-04")
@pytest.mark.parametrize("text", ["SHOW \u017fTATESTORES", "SHOW FEED\u017f", "DEFINE STATESTORE a \u212aEYS b"])
def test_letters_that_only_fold_to_a_keyword_are_not_it(text: str) -> None:
    with pytest.raises(WclSyntaxError):
        parse(text)


@pytest.mark.spec("W-04")
def test_places_and_texts_of_several_statements() -> None:
    text = "-- one\n  SHOW FEEDS ; DROP FEED\n  a -- last\n;\n\n\tDESCRIBE FEED a"
    found = [(parsed.line, parsed.column, parsed.text) for parsed in parse(text)]
    assert found == [(2, 3, "SHOW FEEDS"), (2, 16, "DROP FEED\n  a"), (6, 2, "DESCRIBE FEED a")]


@pytest.mark.spec("W-04")
def test_the_text_of_a_definition_ends_with_its_last_word() -> None:
    for tail in ("", " FROM FEED f", " KEYS a", " KEYS a UNIQUE", " FROM FEED f KEYS a = JSON 'x'"):
        statement = "DEFINE STATESTORE s" + tail
        assert parse(f"  {statement} -- c\n ;")[0].text == statement
    assert parse("DEFINE STATESTORE s FROM FEED f KEYS a = RECORD_KEY ;")[0].text.endswith("RECORD_KEY")


@pytest.mark.spec("W-04")
@pytest.mark.parametrize("text", [*VALID, "SHOW\nSTATESTORES; -- done", "DESCRIBE\n\n\nFEED\na;\nSHOW FEEDS"])
def test_line_ends_and_a_byte_order_mark_change_nothing(text: str) -> None:
    """Case 3."""
    plain = text.replace("\r\n", "\n")
    wanted = [(p.command, p.line, p.column, p.text) for p in parse(plain)]
    assert [(p.command, p.line, p.column, p.text) for p in parse("\ufeff" + plain)] == wanted
    windows = parse(plain.replace("\n", "\r\n"))
    assert [(p.command, p.line, p.column, p.text.replace("\r\n", "\n")) for p in windows] == wanted


@pytest.mark.spec("W-04", "W-06")
@given(any_text.map(lambda text: text.replace("\r", "")))
def test_line_ends_change_no_result_and_no_place(text: str) -> None:
    assert outcome(text.replace("\n", "\r\n")) == outcome(text)


def outcome(text: str) -> object:
    """What comes of a text, as far as line ends must not change it."""
    try:
        return [(parsed.command, parsed.line, parsed.column) for parsed in parse(text)]
    except WclSyntaxError as error:
        return error.line, error.column, error.source_line, error.expected
    except InvalidCommand as error:
        return error.line, error.column, error.source_line


@pytest.mark.spec("W-06")
@given(any_text)
@example("DEFINE STATESTORE x FROM FEED f KEYS p = METADATA '\ud800'")
@example('DESCRIBE STATESTORE "\ud800"')
@example("DESCRIBE FEED \x85\u2028")
def test_a_text_gives_commands_or_an_error_of_ours_with_a_place(text: str) -> None:
    error = error_of(text)
    if error is not None:
        assert isinstance(error, WclSyntaxError | InvalidCommand)
        assert 1 <= error.line <= text.count("\n") + 1
        assert error.column >= 1
        assert str(error).encode()


def error_of(text: str) -> DexError | None:
    """The error that a text gives, if any."""
    try:
        parse(text)
    except DexError as error:
        return error
    return None


@pytest.mark.spec("W-04")
@given(st.sampled_from(VALID), st.data())
def test_case_space_and_comments_between_words_do_not_matter(text: str, data: st.DataObject) -> None:
    gaps = st.sampled_from([" ", "\n", "\t", "\r\n", " /* it's; */ ", ' -- "c\n', "\u00a0"])
    changed = ""
    for kind, start, end in scan(text):
        word = text[start:end]
        if kind == "keyword":
            word = data.draw(st.sampled_from([word.lower(), word.title(), word]))
        # A line end that closes a comment stays; any other white space may be something else.
        changed += data.draw(gaps) if kind == "space" and not word.startswith("\n") else word
    assert [parsed.command for parsed in parse(changed)] == [parsed.command for parsed in parse(text)]


@pytest.mark.spec("W-04", "W-06")
@given(any_text)
def test_statement_by_statement_gives_what_the_whole_gives(text: str) -> None:
    """Up to the first error, which has the same message and place either way."""
    try:
        whole: object = parse(text)
    except WclSyntaxError as error:
        whole = str(error)
    except InvalidCommand:
        return
    try:
        pieces: object = [parse_span(span) for span in split(text)]
    except WclSyntaxError as error:
        pieces = str(error)
    except InvalidCommand:
        return
    assert pieces == whole


@pytest.mark.spec("W-06")
def test_an_error_in_a_span_has_its_place_in_the_script() -> None:
    """Case 7."""
    spans = split("-- a comment\nSHOW FEEDS;\n\nSHOW FEEDS; DROP STATESTOR x;\n")
    assert [parse_span(span).line for span in spans[:2]] == [2, 4]
    with pytest.raises(WclSyntaxError) as caught:
        parse_span(spans[2])
    assert (caught.value.line, caught.value.column) == (4, 18)
    assert caught.value.source_line == "SHOW FEEDS; DROP STATESTOR x;"


@pytest.mark.spec("W-07")
def test_a_refused_declaration_in_a_span_has_its_place_in_the_script() -> None:
    span = split("SHOW FEEDS;\nSHOW FEEDS; DEFINE STATESTORE a KEYS\n  b,\n  b;")[2]
    with pytest.raises(InvalidCommand) as caught:
        parse_span(span)
    assert (caught.value.line, caught.value.column, caught.value.source_line) == (4, 3, "  b;")


@pytest.mark.spec("X-08")
def test_splitting_and_formatting_do_not_import_lark() -> None:
    code = "import sys, dex.wcl.statements, dex.wcl.format, dex.wcl.highlight; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
