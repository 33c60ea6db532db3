"""From WCL text to typed commands."""

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from dex.wcl import ast
from dex.wcl.commands import Command
from dex.wcl.compile import compile_statement, place_at_fault
from dex.wcl.errors import InvalidCommand
from dex.wcl.source import locate
from dex.wcl.statements import Span

if TYPE_CHECKING:
    from lark import Lark


class Parsed(NamedTuple):
    """A typed command, and its statement: `line` and `column` from 1, and the text without `;`."""

    command: Command[Any]
    line: int
    column: int
    text: str


def parse(text: str) -> list[Parsed]:
    """Read a script: all its statements, or the first error and nothing (spec: W-04, W-06, W-08).

    Raises:
        WclSyntaxError: the text is not WCL.
        InvalidCommand: a declaration breaks its contract; with facts `line`, `column` and `source_line`.
    """
    start = int(text.startswith("\ufeff"))
    return _parse(Span(text[start:], 1, 1, start, terminated=False, source=text))


def parse_span(span: Span) -> Parsed:
    """Read one statement of a script that `split` has cut; errors tell the line and column in the script.

    Raises:
        WclSyntaxError, InvalidCommand: as `parse`.
    """
    return _parse(span)[0]


@cache
def lark_parser() -> "Lark":
    """Give Lark's parser for WCL, made when first asked for."""
    import lark

    from dex.wcl import table
    from dex.wcl.build import AstBuilder

    if lark.__version__ == table.LARK_VERSION:
        # The stand-alone parsers that Lark generates call this; no public function takes a transformer.
        load: Any = lark.Lark._load_from_dict  # noqa: SLF001
        parser: Lark = load(table.DATA, table.MEMO, transformer=AstBuilder())
        return parser
    from dex.wcl.generate import build, grammar_text

    return build(grammar_text(), AstBuilder())


def _parse(span: Span) -> list[Parsed]:
    from lark import UnexpectedInput

    from dex.wcl.diagnose import syntax_error

    try:
        # The transformer makes a list of nodes of what would be a tree.
        statements = cast("list[ast.Statement]", lark_parser().parse(span.text))
    except UnexpectedInput as error:
        raise syntax_error(error, span) from error
    return [_parsed(statement, span) for statement in statements]


def _parsed(statement: ast.Statement, span: Span) -> Parsed:
    place = statement.place
    try:
        command = compile_statement(statement)
    except InvalidCommand as error:
        at = span.offset + place_at_fault(statement, error).start
        error.facts = {**locate(span.source, at), **error.facts}
        raise
    column = place.column + span.column - 1 if place.line == 1 else place.column
    return Parsed(command, place.line + span.line - 1, column, span.text[place.start : place.end])
