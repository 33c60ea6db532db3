"""The grammar and the table that is generated from it."""

import hashlib
import re
from typing import Any

import pytest

from dex.wcl import table
from dex.wcl.generate import build, grammar_text, render
from dex.wcl.parser import lark_parser, parse
from tests.wcl.strategies import VALID


@pytest.mark.spec("W-08")
def test_the_checked_in_table_is_that_of_the_grammar() -> None:
    assert hashlib.sha256(grammar_text().encode()).hexdigest() == table.GRAMMAR_SHA256, "generate wcl/table.py anew"


@pytest.mark.spec("W-08")
def test_the_generator_writes_a_module_that_parses_like_the_checked_in_one() -> None:
    fresh: dict[str, Any] = {}
    exec(compile(render(grammar_text()), "table.py", "exec"), fresh)
    assert fresh["KEYWORDS"] == table.KEYWORDS
    assert fresh["PATTERNS"] == table.PATTERNS
    states = table.DATA["parser"]["parser"]["states"]
    assert len(fresh["DATA"]["parser"]["parser"]["states"]) == len(states)


@pytest.mark.spec("W-08")
def test_another_version_of_lark_builds_the_parser_from_the_grammar(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = [parse(text) for text in VALID]
    monkeypatch.setattr(table, "LARK_VERSION", "0")
    lark_parser.cache_clear()
    try:
        assert [parse(text) for text in VALID] == loaded
    finally:
        lark_parser.cache_clear()


@pytest.mark.spec("W-04")
def test_every_keyword_is_kept_from_being_a_name() -> None:
    terminals = {terminal.name for terminal in build(grammar_text()).terminals}
    for keyword in table.KEYWORDS:
        assert keyword in terminals
        for kind in ("STORE_NAME", "FEED_NAME", "KEY_NAME"):
            assert re.fullmatch(table.PATTERNS[kind], keyword) is None
            assert re.fullmatch(table.PATTERNS[kind], keyword + "X") is not None


@pytest.mark.spec("W-04")
def test_the_named_terminals_besides_keywords_are_known() -> None:
    """A keyword that is added without its priority, or without its place in NOT_A_KEYWORD, shows up here."""
    others = set(table.PATTERNS) - set(table.KEYWORDS)
    assert others == {
        "STORE_NAME", "FEED_NAME", "KEY_NAME", "STRING", "SEMICOLON", "COMMA", "EQUAL", "SPACE", "COMMENT"
    }  # fmt: skip
