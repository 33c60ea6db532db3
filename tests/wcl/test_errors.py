"""What every message repeats of its input."""

import pytest

from dex.wcl.errors import DexError, InvalidCommand, shorten
from dex.wcl.shown import shown

LONG = "x" * 100_000


@pytest.mark.spec("S-17")
def test_a_message_repeats_no_more_than_the_ends_of_a_long_word() -> None:
    """The fact is whole, and what stands around the word too."""
    error = DexError(f"there is no store '{LONG}'", f"write {LONG} well", name=LONG)
    assert len(str(error)) < 300
    assert str(error).startswith("there is no store 'xxx")
    assert error.message.endswith("x'")
    assert error.remedy.endswith(" well")
    assert error.name == LONG
    assert len(str(error.as_dict()["message"])) < 200


@pytest.mark.spec("S-17")
def test_a_text_of_many_words_is_cut_in_its_middle() -> None:
    """A name with spaces is no reason to fill the screen either."""
    text = shorten(f"begin {'x ' * 50_000}end")
    assert len(text) < 4100
    assert (text[:5], text[-3:]) == ("begin", "end")


@pytest.mark.spec("S-17")
def test_what_has_a_usual_length_stays_as_it_is() -> None:
    """A long path and a list of names are told in full."""
    text = f"cannot read {'/folder' * 40}; known: {', '.join(['command'] * 40)}"
    assert shorten(text) == text
    assert str(InvalidCommand(text)) == text


@pytest.mark.spec("X-02")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("it", "'it'"),
        (None, "null"),
        (True, "true"),
        ([None, "a", b"\xff"], '[null,"a",{"bytes":"/w=="}]'),
        ({"a": 1.5}, '{"a":1.5}'),
        ("y" * 61, "'" + "y" * 60 + "…'"),
    ],
)
def test_values_are_shown_as_json(value: object, text: str) -> None:
    """Never as Python writes them."""
    assert shown(value) == text
