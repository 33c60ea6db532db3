"""Scripts cut into statements."""

import pytest
from hypothesis import given

from dex.wcl.statements import is_complete, split
from tests.wcl.strategies import any_text


@pytest.mark.spec("W-04", "X-04")
def test_each_statement_has_its_place_and_comments_between_have_none() -> None:
    text = '\ufeff-- it\'s; a note\r\nSHOW FEEDS;\r\n/* ; */ ;; DROP FEED\r\n  "a;b" /* x */ ; DEFINE FEED x -- y'
    spans = split(text)
    assert [(span.text, span.line, span.column, span.terminated) for span in spans] == [
        ("SHOW FEEDS", 2, 1, True),
        ('DROP FEED\r\n  "a;b"', 3, 12, True),
        ("DEFINE FEED x", 4, 19, False),
    ]


@pytest.mark.spec("W-04")
def test_a_byte_order_mark_takes_no_column() -> None:
    [span] = split("\ufeffSHOW FEEDS")
    assert (span.line, span.column, span.offset) == (1, 1, 1)


@pytest.mark.spec("W-04")
@given(any_text)
def test_a_span_is_where_it_says(text: str) -> None:
    for span in split(text):
        assert text[span.offset :].startswith(span.text)
        before = text[: span.offset]
        assert span.line == before.count("\n") + 1
        in_line = before[before.rfind("\n") + 1 :]
        assert span.column == len(in_line) + 1 - (span.line == 1 and text.startswith("\ufeff"))
        assert not span.text[0].isspace()
        assert span.text[0] != "\ufeff"


@pytest.mark.spec("P-01", "W-04")
@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("", False),
        ("-- only a comment", False),
        ("SHOW FEEDS", False),
        ("SHOW FEEDS;", True),
        ("SHOW FEEDS; -- done", True),
        ("SHOW FEEDS; /* done */\n", True),
        ("SHOW FEEDS; DROP", False),
        ("SHOW FEEDS -- ;", False),
        ("SHOW FEEDS; /* open", False),
        ("DEFINE STATESTORE a.t FROM FEED a.ev KEYS p = METADATA 'x;", False),
        ("DEFINE STATESTORE a.t FROM FEED a.ev KEYS p = METADATA 'x;y';", True),
        ("DEFINE STATESTORE a.t FROM FEED a.ev KEYS p = METADATA 'it'';", False),
        ('DROP FEED "a;', False),
        ('DROP FEED "a;";', True),
        ("DROP FEED a /* it's */;", True),
    ],
)
def test_whether_a_text_ends_a_statement(text: str, complete: bool) -> None:
    """Case 2: Enter after `'x;` continues the statement."""
    assert is_complete(text) is complete
