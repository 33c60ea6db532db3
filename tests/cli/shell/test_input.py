"""Kinds of input, and when each is whole."""

import pytest

from dex.cli.shell.input import arguments_of, inputs_of, is_wcl_alone, is_whole, kind_of, split_words
from dex.wcl.errors import InputError


@pytest.mark.spec("P-02")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "blank"),
        (" \n", "blank"),
        ("SHOW STATESTORES;", "wcl"),
        ("show", "wcl"),
        ("-- it's a note", "wcl"),
        ("/* don't */ SHOW FEEDS;", "wcl"),
        (";", "wcl"),
        ('{"command": "show_feeds"}', "json"),
        ("  [", "json"),
        ("store list", "cli"),
        ("feed list", "cli"),
        ("dex store list", "cli"),
        ("stroe list", "cli"),
        ("--version", "cli"),
        ("-o json store list", "cli"),
        ("--data-dir=/tmp store list", "cli"),
        (r"\q", "meta"),
        (r"  \timing;", "meta"),
        (r"\no-such", "meta"),
        ("help store put", "meta"),
        ("?", "meta"),
        ("exit;", "meta"),
        ("quit", "meta"),
        ("PUT a.b 1", "other"),
        ("SHOWSTATESTORES;", "other"),
        ("shwo statestores;", "other"),
    ],
)
def test_the_kind_is_told_by_how_the_input_begins(text: str, kind: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.spec("P-01")
@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("SHOW STATESTORES", False),
        ("SHOW\nSTATESTORES;", True),
        ("SHOW FEEDS; SHOW", False),
        ("DEFINE STATESTORE a.t FROM FEED a.ev KEYS p = METADATA 'x;", False),
        ("DEFINE STATESTORE a.t FROM FEED a.ev KEYS p = METADATA 'x;\ny';", True),
        ("SHOW /* ; */", False),
        ("SHOW -- done;", False),
        ('DROP STATESTORE "a;', False),
        ("DROP STATESTORE\n\\e", True),
        ("-- only a comment", True),
        ("/* not closed", False),
        (";", True),
        ('{"command":', False),
        ('{"command": "show_feeds"}', True),
        ('{"command": "show_feeds"};', True),
        ('[{"command": "show_feeds"},', False),
        ('{"command": }', True),
        ("[" * 20_000, True),
        ("store list", True),
        ("store put a.b 'k", True),
        (r"\timing", True),
        ("help", True),
        ("PUT a.b 1", True),
        ("", True),
    ],
)
def test_only_wcl_and_json_go_on_over_lines(text: str, whole: bool) -> None:
    """A `;` in a string, name or comment ends nothing; JSON that typing cannot mend is whole."""
    assert is_whole(text) == whole


@pytest.mark.spec("P-02")
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("SHOW\nFEEDS;", ["wcl", "--", "SHOW\nFEEDS;"]),
        ("-- x", ["wcl", "--", "-- x"]),
        ('{"command": "show_feeds"} ;', ["command", "--", '{"command": "show_feeds"} ']),
        ("store put a.b 'k 1' v --named x=1", ["store", "put", "a.b", "k 1", "v", "--named", "x=1"]),
        ("store list;", ["store", "list"]),
        ("store put a.b k # --named x=1", ["store", "put", "a.b", "k", "#", "--named", "x=1"]),
        ("dex store list", ["store", "list"]),
        ("dex", []),
        ("DROPSTATESTORE a.b;", ["wcl", "--", "DROPSTATESTORE a.b;"]),
    ],
)
def test_input_becomes_arguments_of_dex(text: str, arguments: list[str]) -> None:
    assert arguments_of(text) == arguments


@pytest.mark.spec("P-02")
def test_an_open_quote_is_one_clear_error() -> None:
    with pytest.raises(InputError, match="a quote is not closed"):
        split_words("store put a.b don't")


@pytest.mark.spec("P-01", "P-02")
def test_a_file_is_cut_into_what_one_would_type() -> None:
    """Statements and JSON go on over lines, a command is one line; each is told with its first line."""
    text = "\ufeff-- it's a note\nDEFINE FEED\n  f;\nfeed append f k it's\n\n{\n}\n\\df\nSHOW FEEDS"
    assert list(inputs_of(text)) == [
        (1, "-- it's a note"),
        (2, "DEFINE FEED\n  f;"),
        (4, "feed append f k it's"),
        (5, ""),
        (6, "{\n}"),
        (8, r"\df"),
        (9, "SHOW FEEDS"),
    ]


@pytest.mark.spec("P-01", "X-04")
@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("", True),
        ('-- store list\nSHOW FEEDS;\nDROP FEED "store list";', True),
        ("SHOW FEEDS;\nboo;", True),
        ("SHOW FEEDS;\nstore list", False),
        ("store list", False),
        ('{"command": "show_feeds"}', False),
        ("SHOW FEEDS;\n\\df", False),
    ],
)
def test_a_file_of_wcl_alone_is_known(text: str, alone: bool) -> None:
    """Wrong statements are WCL too, so that a batch says what is wrong with them."""
    assert is_wcl_alone(text) is alone
