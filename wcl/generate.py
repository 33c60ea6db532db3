"""Write dex/wcl/table.py: the grammar's terminals and Lark's parsing tables, as Python literals.

Building them from grammar.lark takes some 30 ms at every start; loading them takes 3.
Run `python -m dex.wcl.generate > wcl/table.py` after a change of the grammar.
"""

import hashlib
import sys
from importlib import resources
from typing import Any

import lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

TEMPLATE = '''\
"""Generated from grammar.lark by `python -m dex.wcl.generate`; edit the grammar instead."""
# fmt: off
# ruff: noqa: E501 -- tables are not for reading

from typing import Any

GRAMMAR_SHA256 = "{digest}"
LARK_VERSION = "{version}"
KEYWORDS = {keywords!r}
PATTERNS = {patterns!r}
DATA: dict[str, Any] = {data!r}
MEMO: dict[int, Any] = {memo!r}
'''


def grammar_text() -> str:
    """Give the text of grammar.lark."""
    return resources.files("dex.wcl").joinpath("grammar.lark").read_text(encoding="utf-8")


def build(grammar: str, transformer: "lark.Transformer[lark.Token, Any] | None" = None) -> lark.Lark:
    """Make the parser from the grammar itself."""
    return lark.Lark(grammar, parser="lalr", lexer="contextual", maybe_placeholders=True, transformer=transformer)


def render(grammar: str) -> str:
    """Give the source of dex.wcl.table for the text of a grammar."""
    parser = build(grammar)
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    patterns = {terminal.name: terminal.pattern.to_regexp() for terminal in parser.terminals}
    return TEMPLATE.format(
        digest=hashlib.sha256(grammar.encode()).hexdigest(),
        version=lark.__version__,
        keywords=tuple(name for name in _in_order(parser) if parser.get_terminal(name).priority),
        patterns=patterns,
        data=data,
        memo=memo,
    )


def _in_order(parser: lark.Lark) -> list[str]:
    """Give the terminals in the order in which the grammar's rules name them."""
    names = [symbol.name for rule in parser.rules for symbol in rule.expansion if symbol.is_term]
    return list(dict.fromkeys(names))


if __name__ == "__main__":
    sys.stdout.write(render(grammar_text()))
