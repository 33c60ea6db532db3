"""Names and what is near to them."""

import pytest

from dex.wcl.errors import InvalidCommand
from dex.wcl.names import check_key_name, check_name, check_text, did_you_mean, nearest


@pytest.mark.spec("W-04")
@pytest.mark.parametrize("name", ["a", "accounts.employees", "eu:orders", "日本.größe", " a", "x" * 255, "a b.c"])
def test_a_dotted_name_may_have_any_printable_characters(name: str) -> None:
    check_name(name, "store name")
    check_key_name(name)


@pytest.mark.spec("W-04")
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "cannot be blank"),
        ("  ", "cannot be blank"),
        (None, "cannot be blank"),
        (7, "is text, not int"),
        (".a", "empty segment"),
        ("a..b", "empty segment"),
        ("a. .b", "empty segment"),
        ("a\nb", "control character"),
        ("a\x7f", "control character"),
        ("\ud800", "not valid Unicode"),
        ("é" * 128, "256 bytes, and 255 is the limit"),
    ],
)
def test_a_bad_name_is_refused_with_the_reason(name: object, problem: str) -> None:
    with pytest.raises(InvalidCommand, match=problem):
        check_name(name, "store name")


@pytest.mark.spec("W-04")
def test_a_long_name_is_cut_in_the_message() -> None:
    with pytest.raises(InvalidCommand) as caught:
        check_name("x" * 10_000, "store name")
    assert len(str(caught.value)) < 200


@pytest.mark.spec("W-07")
@pytest.mark.parametrize("name", ["", " ", None, "a\tb", "\udfff", "x" * 256])
def test_a_bad_key_name_is_refused(name: object) -> None:
    with pytest.raises(InvalidCommand):
        check_key_name(name)


@pytest.mark.spec("F-03")
def test_an_extractor_text_is_one_line_of_unicode() -> None:
    check_text("x;y 'z' é", "METADATA name")
    for text in ("a\nb", "a\r", "\x00", "\ud800"):
        with pytest.raises(InvalidCommand, match="the METADATA name"):
            check_text(text, "METADATA name")


@pytest.mark.spec("S-18", "W-11")
def test_the_nearest_names_come_first_whatever_their_case() -> None:
    known = ["accounts.employees", "accounts.events", "orders"]
    assert nearest("accounts.employee", known)[0] == "accounts.employees"
    assert nearest("Orders", known) == ["orders"]
    assert nearest("xyz", known) == []
    assert did_you_mean("ordrs", known) == "did you mean orders?"
    assert did_you_mean("xyz", known) == ""


@pytest.mark.spec("S-18", "W-11")
@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("employees", "did you mean accounts.employees or samples.employees?"),
        ("employes", "did you mean accounts.employees or samples.employees?"),
        ("billing.employees", "did you mean accounts.employees or samples.employees?"),
        ("acounts.employees", "did you mean accounts.employees?"),
        ("sample.employees", "did you mean samples.employees?"),
        ("accounts.employes", "did you mean accounts.employees?"),
        ("accounts.event", "did you mean accounts.events?"),
        ("events", "did you mean accounts.events?"),
        ("zzz", ""),
    ],
)
def test_dotted_names_are_compared_whole_and_by_their_last_segment(word: str, hint: str) -> None:
    """Names that are as near are all told; one that is alike as a whole comes before those."""
    known = ["samples.employees", "accounts.employees", "accounts.events", "orders"]
    assert did_you_mean(word, known) == hint
