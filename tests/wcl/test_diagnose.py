"""Syntax errors in plain words."""

import re

import pytest
from hypothesis import given

from dex.wcl.errors import DexError, WclSyntaxError
from dex.wcl.parser import parse
from dex.wcl.source import MAX_LINE, caret
from dex.wcl.table import KEYWORDS
from tests.wcl.strategies import any_text

GRAMMAR_WORDS = re.compile(r"\$END|__|STORE_NAME|FEED_NAME|KEY_NAME|SEMICOLON|COMMA|EQUAL|\bSTRING\b|Token")


def error_of(text: str) -> WclSyntaxError:
    """The error that a text gives."""
    with pytest.raises(WclSyntaxError) as caught:
        parse(text)
    return caught.value


@pytest.mark.spec("W-06")
@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("DESCRIBE STATESTORE\n\n", (1, 20), "expected a store name"),
        ("SHOW FEEDS;\nDESCRIBE STATESTORE -- which?\n;", (2, 20), "expected a store name"),
        ("SHOW FEEDS;\nDROP FEED /* x */", (2, 10), "expected a feed name or IF"),
        (
            "-- a\nSHOW FEEDS;\n\nDROP STATESTOR x;",
            (4, 6),
            "expected STATESTORE or FEED, found STATESTOR; did you mean STATESTORE?",
        ),
        ("DROPSTATESTORE a.b", (1, 1), "found DROPSTATESTORE; did you mean DROP STATESTORE?"),
        ("DROP STATESTOREa.b", (1, 6), "found STATESTOREa.b; did you mean STATESTORE a.b?"),
        ("SHOWSTATESTORES", (1, 1), "found SHOWSTATESTORES; did you mean SHOW STATESTORES?"),
        ("SHWO FEEDS", (1, 1), "expected DEFINE, DROP, DESCRIBE or SHOW, found SHWO; did you mean SHOW?"),
        ("create statestore a", (1, 1), "found create; did you mean DEFINE?"),
        ("SHOW STORES", (1, 6), "expected STATESTORES or FEEDS, found STORES; did you mean STATESTORES?"),
        ("SHOW STATESTORE", (1, 6), "expected STATESTORES or FEEDS, found STATESTORE; did you mean STATESTORES?"),
        ("DEFINE STATESTORE a KEY b", (1, 21), "expected FROM, KEYS or ;, found KEY; did you mean KEYS?"),
        ("DEFINE STATESTORE a KEYS b c", (1, 28), "expected UNIQUE, =, a comma or ;, found c"),
        ("DEFINE STATESTORE a KEYS b,", (1, 28), "expected a key name"),
        ("DEFINE STATESTORE a KEYS b = c", (1, 30), "expected METADATA, JSON or RECORD_KEY, found c"),
        ("DEFINE FEED a KEYS b", (1, 15), "expected ;, found KEYS"),
        ("DESCRIBE STATESTORE 'a.b'", (1, 21), "expected a store name, found 'a.b'; did you mean \"a.b\"?"),
        (
            "DEFINE STATESTORE a FROM FEED f KEYS b = JSON dept",
            (1, 47),
            "expected text in single quotes, found dept; did you mean 'dept'?",
        ),
        ("DESCRIBE STATESTORE a.", (1, 22), "a dot stands between two segments of a name"),
        ("DROP FEED a..b", (1, 12), "a dot stands between two segments of a name"),
        ("DROP FEED eu:orders", (1, 13), 'unexpected character :; to use it in a name write "eu:orders"'),
        ("SHOW FEEDS; -- gone\n:a FEEDS", (2, 1), 'to use it in a name write ":a"'),
        ("SHOW FEEDS @", (1, 12), "unexpected character @"),
        ("SHOW FEEDS \u200b", (1, 12), "unexpected character U+200B"),
        ("\n SHOW 'abc\n\n", (2, 7), "this text is never closed; end it with '"),
        ("SHOW FEEDS; /* abc\n", (1, 13), "this comment is never closed; end it with */"),
        ('DROP FEED\n"abc;\n', (2, 1), 'this quoted name is never closed; end it with "'),
        ("\ufeffSHWO FEEDS", (1, 1), "did you mean SHOW?"),
    ],
)
def test_place_and_message(text: str, place: tuple[int, int], message: str) -> None:
    """Cases 4, 6 and 7."""
    error = error_of(text)
    assert (error.line, error.column) == place
    assert str(error).startswith(f"line {place[0]}, column {place[1]}: ")
    assert message in str(error)


@pytest.mark.spec("W-06")
def test_the_facts_of_an_error() -> None:
    error = error_of("DROP STATESTOR x;")
    assert error.facts == {
        "line": 1,
        "column": 6,
        "source_line": "DROP STATESTOR x;",
        "expected": ["STATESTORE", "FEED"],
        "suggestion": "STATESTORE",
    }
    assert error.as_dict()["kind"] == "syntax"


@pytest.mark.spec("W-10")
@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("PUT accounts.employees 'k'", "dex store put"),
        ("insert into a values (1)", "dex store put"),
        ("UPDATE a SET b = 1", "dex store put"),
        ("SELECT * FROM a", "dex store get"),
        ("GET a", "dex store get"),
        ("Delete FROM a", "dex store delete"),
        ("CLEAR a", "dex store clear"),
        ("REBUILD a", "dex store rebuild"),
        ("APPEND a", "dex feed append"),
    ],
)
def test_an_operation_on_rows_points_to_its_command(text: str, command: str) -> None:
    for script in (text, f"SHOW FEEDS;\n{text};"):
        error = error_of(script)
        assert f"use `{command}`" in str(error)
        assert error.suggestion == command


@pytest.mark.spec("W-10")
def test_a_row_word_elsewhere_is_only_a_name() -> None:
    assert parse("DROP FEED put; DESCRIBE FEED select")
    assert "dex store" not in str(error_of("DROP put"))


@pytest.mark.spec("W-06")
@given(any_text)
def test_no_grammar_word_and_nothing_unprintable_reaches_a_person(text: str) -> None:
    if GRAMMAR_WORDS.search(text):
        return
    try:
        parse(text)
    except WclSyntaxError as error:
        shown = f"{error}\n{caret(error)}\n{error.facts}"
        assert not GRAMMAR_WORDS.search(shown)
        assert shown.replace("\t", "").replace("\n", "").replace("\ufeff", "").encode()
        assert "\x1b" not in shown
    except DexError:
        pass


@pytest.mark.spec("W-06")
def test_a_long_line_is_cut_around_the_caret() -> None:
    text = "SHOW FEEDS; " * 1000 + "DROP STATESTOR x; " + "SHOW FEEDS; " * 1000
    error = error_of(text)
    assert error.column == 12 * 1000 + 6
    assert len(error.source_line) <= MAX_LINE + 2
    line, pointer = caret(error).split("\n")
    assert line[len(pointer) - 1 :].startswith("STATESTOR x")


@pytest.mark.spec("W-06")
def test_a_long_word_is_cut() -> None:
    assert len(str(error_of("x" * 10_000))) < 200
    assert len(str(error_of("DROP FEED " + "x" * 10_000 + ":" + "y" * 10_000))) < 700
    assert len(str(error_of("DROP FEED '" + "x" * 10_000 + "'"))) < 700


@pytest.mark.spec("W-06", "W-10")
@pytest.mark.parametrize(
    "statement",
    [
        "DEFINE STATESTORE {} KEYS a",
        "DEFINE STATESTORE {}",
        "DEFINE STATESTORE s KEYS {}",
        "DEFINE STATESTORE s KEYS a, {} UNIQUE",
        "DEFINE STATESTORE s FROM FEED {} KEYS a = RECORD_KEY",
        "DROP STATESTORE {};",
        "DESCRIBE STATESTORE {} -- a comment",
        "DEFINE FEED {}",
        "DROP FEED {}",
    ],
)
def test_a_keyword_as_a_name_tells_how_to_quote_it(statement: str) -> None:
    """Any keyword, wherever a name stands; written so, it is a name."""
    for keyword in KEYWORDS:
        word = keyword.lower()
        error = error_of(statement.format(word))
        assert error.remedy == f'{word} is a keyword; to use it as a name write "{word}"', (keyword, str(error))
        assert error.suggestion == f'"{word}"'
        assert parse(statement.format(error.suggestion))
