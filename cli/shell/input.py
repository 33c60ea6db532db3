"""What a person types: which kind of input it is, whether it is whole, and the command line it stands for.

WCL, a typed JSON command and a CLI command without the leading `dex` all become arguments of `dex` (spec: P-02),
so that the shell runs exactly what the command line runs.
"""

import shlex
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Literal, TypeAlias

from dex.cli.completion.tree import GLOBAL, GROUPS, ROOT
from dex.wcl.complete import complete
from dex.wcl.errors import InputError
from dex.wcl.lexemes import scan
from dex.wcl.names import nearest
from dex.wcl.statements import BLANK, is_complete, split

Kind: TypeAlias = Literal["blank", "meta", "json", "cli", "wcl", "other"]
"""`meta` is a backslash command or a plain word for one; `other` begins like nothing known and is one line."""

WORDS = {"help": r"\?", "?": r"\?", "exit": r"\q", "quit": r"\q"}
"""Plain words that mean a backslash command."""


class NoNames:
    """No names at all, where only keywords are asked for."""

    def stores(self) -> Iterable[str]:
        """Give none."""
        return ()

    feeds = keys = stores


@cache
def statement_words() -> frozenset[str]:
    """Give the keywords that begin a statement, as the grammar has them."""
    return frozenset(suggestion.text for suggestion in complete("", 0, NoNames()))


def kind_of(text: str) -> Kind:
    """Tell which kind of input a text is, by how it begins."""
    stripped = text.lstrip()
    if not stripped:
        return "blank"
    if stripped[0] in "{[":
        return "json"
    first = stripped.split(maxsplit=1)[0]
    word = first.rstrip(";")
    if stripped[0] == "\\" or word in WORDS:
        return "meta"
    if word in GROUPS[""] or word == "dex" or _is_option(first):
        return "cli"
    if _begins_statement(stripped):
        return "wcl"
    near = nearest(word, [*GROUPS[""], *statement_words()], 1)
    return "cli" if near and near[0] in GROUPS[""] else "other"


def is_whole(text: str) -> bool:
    """Tell whether Enter ends the input; only WCL and JSON go on over lines (spec: P-01)."""
    kind = kind_of(text)
    if statement_to_edit(text) is not None:
        return True
    if kind == "wcl":
        return is_complete(text) or not split(text)
    return kind != "json" or _json_is_whole(text)


def inputs_of(text: str) -> Iterator[tuple[int, str]]:
    """Cut a file into what a person would have typed, each with its line from 1; the last may not be whole."""
    pending, first = "", 1
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if not pending:
            first = number
        pending = f"{pending}\n{line}" if pending else line
        if is_whole(pending):
            yield first, pending
            pending = ""
    if pending:
        yield first, pending


def is_wcl_alone(text: str) -> bool:
    """Tell whether a file has nothing but statements of WCL, right or wrong ones."""
    return all(kind_of(span.text) in ("wcl", "other") for span in split(text))


def statement_to_edit(text: str) -> str | None:
    r"""Give the lines before a last line `\e`, which asks to edit what is typed so far; None if there is none."""
    head, _, last = text.rstrip().rpartition("\n")
    return head if last.strip() == r"\e" and kind_of(head) in ("wcl", "json") else None


def arguments_of(text: str) -> list[str]:
    """Give the arguments of `dex` that carry out WCL, JSON or a CLI command.

    Raises:
        InputError: a quote in a CLI command is left open.
    """
    kind = kind_of(text)
    if kind == "json":
        return ["command", "--", _without_semicolon(text)]
    if kind == "cli":
        words = split_words(text)
        return words[1:] if words[:1] == ["dex"] else words
    return ["wcl", "--", text]


def split_words(text: str, *, escape: str = "\\") -> list[str]:
    """Cut a line into words as a shell would; a `;` at its end ends it. With `escape` empty backslashes are plain.

    Raises:
        InputError: a quote is left open.
    """
    lexer = shlex.shlex(_without_semicolon(text), posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    lexer.escape = escape
    try:
        return list(lexer)
    except ValueError as error:
        raise InputError("a quote is not closed", "close it, or write \\' for a plain one") from error


def _without_semicolon(text: str) -> str:
    return text.strip().removesuffix(";")


def _is_option(word: str) -> bool:
    """Tell an option from a comment of WCL, which begins with two dashes as well."""
    name = word.partition("=")[0]
    return name in GLOBAL or name in ROOT


def _begins_statement(text: str) -> bool:
    """Tell whether the first lexeme is a keyword that begins a statement, or there are only comments so far."""
    for kind, start, end in scan(text):
        if kind not in BLANK:
            return kind == "open_comment" or text[start:end].upper() in statement_words() or kind == "semicolon"
    return True


def _json_is_whole(text: str) -> bool:
    """Tell whether no more typing could help: it is JSON, or it is wrong before its end."""
    import msgspec

    try:
        msgspec.json.decode(_without_semicolon(text))
    except msgspec.DecodeError as error:
        return "truncated" not in str(error)
    except (UnicodeError, RecursionError):
        return True
    return True
