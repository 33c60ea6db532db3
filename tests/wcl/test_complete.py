"""Completion as a function of text, cursor and names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dex.wcl.complete import complete
from dex.wcl.errors import WclSyntaxError
from dex.wcl.parser import parse
from tests.wcl.strategies import any_text

VERBS = ["DEFINE", "DROP", "DESCRIBE", "SHOW"]


class Known:
    """A few names."""

    def stores(self) -> list[str]:
        return ["accounts.tagged", "accounts.employees", "eu:orders", "app.keys", "unique", "Zoo"]

    def feeds(self) -> list[str]:
        return ["accounts.events", "feed"]

    def keys(self) -> list[str]:
        return ["department", "passport", "department"]


def offered(text: str) -> list[str]:
    """What is offered at the `|` of a text, or at its end."""
    before, _, after = text.partition("|")
    return [suggestion.text for suggestion in complete(before + after, len(before), Known())]


@pytest.mark.spec("P-01")
@pytest.mark.parametrize(
    ("text", "suggestions"),
    [
        ("", VERBS),
        ("  \n", VERBS),
        ("D", ["DEFINE", "DROP", "DESCRIBE"]),
        ("desc", ["DESCRIBE"]),
        ("SHOW ", ["STATESTORES", "FEEDS"]),
        ("SHOW S", ["STATESTORES"]),
        ("SHOW FEEDS; ", VERBS),
        ("SHOW FEEDS;", VERBS),
        ("DROP |; SHOW FEEDS", ["STATESTORE", "FEED"]),
        ("DEFINE STATESTORE x ", ["FROM", "KEYS"]),
        ("DEFINE STATESTORE x FROM ", ["FEED"]),
        ("DEFINE STATESTORE x FROM FEED accounts.events K", ["KEYS"]),
        ("DEFINE STATESTORE x KEYS a ", ["UNIQUE"]),
        ("DEFINE STATESTORE x KEYS a UNIQUE, ", ["department", "passport"]),
        ("DEFINE STATESTORE x FROM FEED f KEYS a =", ["METADATA", "JSON", "RECORD_KEY"]),
        ("DEFINE STATESTORE x FROM FEED f KEYS a = J", ["JSON"]),
        ("DROP STATESTORE IF ", ["EXISTS"]),
        ("DEFINE FEED IF NOT ", ["EXISTS"]),
        ("DESCRIBE FEED ", ["accounts.events", '"feed"']),
        ("DEFINE STATESTORE x FROM FEED acc", ["accounts.events"]),
    ],
)
def test_what_the_grammar_accepts_is_offered(text: str, suggestions: list[str]) -> None:
    assert offered(text) == suggestions


@pytest.mark.spec("P-01")
@pytest.mark.parametrize(
    ("text", "suggestions"),
    [
        ("SHOW STATESTORES; DESCRIBE STATESTORE acc", ["accounts.employees", "accounts.tagged"]),
        ("DESCRIBE\n-- which?\n  STATESTORE\n  accounts.e", ["accounts.employees"]),
        ("DROP STATESTORE ACCOUNTS.T", ["accounts.tagged"]),
        ("DROP STATESTORE z", ["Zoo"]),
        ("DROP STATESTORE IF EXISTS acc", ["accounts.employees", "accounts.tagged"]),
        ("DROP STATESTORE eu:o", ['"eu:orders"']),
        ("DROP STATESTORE eu", ['"eu:orders"']),
        ('DROP STATESTORE "eu:', ['"eu:orders"']),
        ("DROP STATESTORE app.k", ['app."keys"']),
        ('DROP STATESTORE app."k', ['app."keys"']),
        ('DROP STATESTORE app."keys"', ['app."keys"']),
        ("DROP STATESTORE uni", ['"unique"']),
        ("DROP STATESTORE unique", ['"unique"']),
        ("DROP STATESTORE nothing", []),
    ],
)
def test_names_complete_whole_and_in_quotes_where_needed(text: str, suggestions: list[str]) -> None:
    """Case 15."""
    assert offered(text) == suggestions


@pytest.mark.spec("P-01")
@pytest.mark.parametrize(
    "text",
    [
        "-- D",
        "SHOW FEEDS; -- DESCRIBE STATESTORE acc",
        "/* D",
        "DESCRIBE STATESTORE /* acc| */",
        "DEFINE STATESTORE x FROM FEED f KEYS a = METADATA 'acc",
        "DEFINE STATESTORE x FROM FEED f KEYS a = METADATA 'it''s; D",
        "SELECT ",
        "SHOW FEEDS ",
        "DROP @ ",
    ],
)
def test_nothing_is_offered_in_comments_strings_and_what_is_no_wcl(text: str) -> None:
    """Case 15."""
    assert offered(text) == []


@pytest.mark.spec("P-01")
def test_a_suggestion_tells_its_kind_and_what_it_replaces() -> None:
    text = 'SHOW FEEDS; DROP STATESTORE app."k'
    [suggestion] = complete(text, len(text), Known())
    assert suggestion == ('app."keys"', "store", text.index("app"))
    assert [s.kind for s in complete("SHOW ", 5, Known())] == ["keyword", "keyword"]
    assert [s.kind for s in complete("DROP FEED a", 11, Known())] == ["feed"]
    assert {s.kind for s in complete("DEFINE STATESTORE s KEYS ", 25, Known())} == {"key"}


@pytest.mark.spec("P-01")
@given(any_text, st.integers(0, 60))
def test_no_text_breaks_completion(text: str, cursor: int) -> None:
    for suggestion in complete(text, min(cursor, len(text)), Known()):
        assert 0 <= suggestion.start <= min(cursor, len(text))


@pytest.mark.spec("P-01")
@pytest.mark.parametrize("text", ["D", "SHOW ", "DESCRIBE FEED ", "DROP STATESTORE ", "DEFINE STATESTORE x KEYS "])
def test_whatever_is_offered_is_accepted_there(text: str) -> None:
    """The statement may have to go on, but no error is at the word that was offered."""
    for suggestion in complete(text, len(text), Known()):
        written = text[: suggestion.start] + suggestion.text
        assert column_of_error(written) in {None, len(written) + 1}


def column_of_error(text: str) -> int | None:
    """Where a text of one line is wrong."""
    try:
        parse(text)
    except WclSyntaxError as error:
        return int(error.column)
    return None
