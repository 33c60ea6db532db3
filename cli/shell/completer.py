"""What Tab offers: a pure function of the text, the cursor and the names that exist (spec: P-01)."""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from dex.cli.completion.answer import FILE, candidates
from dex.cli.completion.tree import GROUPS
from dex.cli.completion.words import split_line
from dex.cli.settings import FORMATS
from dex.cli.shell.input import WORDS, kind_of
from dex.cli.shell.meta import COMMANDS, MODES
from dex.wcl.complete import complete

_JSON_FIELD = re.compile(r'"(command|store|name|feed)"\s*:\s*"([^"\\]*)$')
_CHOICES = {"[FORMAT]": FORMATS, "[vi|emacs]": MODES, "[COMMAND]": tuple(GROUPS[""])}


class Offer(NamedTuple):
    """A text to put in place of what stands from the offset `start` to the cursor, and what it is."""

    text: str
    start: int
    help: str = ""


class Known(Protocol):
    """The names that exist; each method is called only when its names are wanted."""

    def stores(self) -> Iterable[str]:
        """Give the names of the StateStores."""

    def feeds(self) -> Iterable[str]:
        """Give the names of the Feeds."""

    def keys(self) -> Iterable[str]:
        """Give the names of the named keys of all stores."""


class ShellCompleter(Completer):
    """Offers to prompt_toolkit. `options` are the global options that the shell was started with."""

    def __init__(self, known: Known, options: list[str]) -> None:
        self.known = known
        self.options = options

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002 - its signature
        """Give what may be put at the cursor."""
        for offer in offers(document.text, document.cursor_position, self.known, self.options):
            yield Completion(offer.text, offer.start - document.cursor_position, display_meta=offer.help)


def offers(text: str, cursor: int, known: Known, options: list[str]) -> list[Offer]:
    """Give what may stand at the cursor, by the kind of input."""
    before = text[:cursor]
    if before.lstrip().startswith("\\"):
        return list(_meta(before, known))
    kind = kind_of(before)
    if kind == "json":
        return list(_json(before, known))
    if kind == "cli" and before.split(maxsplit=1)[0] != before.lstrip():
        return list(_cli(before, options))
    if kind == "meta":
        return list(_meta_words(before))
    wcl = [Offer(found.text, found.start, found.kind) for found in complete(text, cursor, known)]
    return wcl + list(_first_word(before))


def _first_word(before: str) -> Iterator[Offer]:
    """Offer commands where nothing but the beginning of a word stands so far."""
    word = before.lstrip()
    if word.split() in ([], [word]):
        start = len(before) - len(word)
        described = {**GROUPS[""], **{name: COMMANDS[meta].help for name, meta in WORDS.items() if name.isalpha()}}
        yield from (Offer(name, start, text) for name, text in described.items() if name.startswith(word))


def _cli(before: str, options: list[str]) -> Iterator[Offer]:
    """Offer what the completion of bash and the others offers, quoted for the line."""
    words = split_line(before)
    if words[0] == "dex":
        words = words[1:]
    start = _word_start(before)
    for name, text in candidates([*options, *words]):
        if name == FILE:
            yield from _paths(words[-1], start)
        else:
            yield Offer(shlex.quote(name), start, text)


def _word_start(before: str) -> int:
    """Give the offset of the last word: after the last blank that no quote or backslash covers."""
    blanks = (match.end() for match in re.finditer(r"\s", before))
    return max((end for end in blanks if split_line(before[:end])[-1] == ""), default=0)


def _meta(before: str, known: Known) -> Iterator[Offer]:
    name, blank, _ = before.lstrip().partition(" ")
    if not blank:
        start = len(before) - len(name)
        yield from (Offer(row, start, meta.help) for row, meta in COMMANDS.items() if row.startswith(name))
    elif name in COMMANDS:
        yield from _argument(COMMANDS[name].argument, before, known)


def _meta_words(before: str) -> Iterator[Offer]:
    """Offer the commands that `help` can tell about."""
    if before.split(maxsplit=1)[0] == "help" and before.lstrip() != "help":
        words = split_line(before)[1:]
        yield from (Offer(name, _word_start(before), text) for name, text in candidates(words) if name != FILE)
    else:
        yield from _first_word(before)


def _argument(kind: str, before: str, known: Known) -> Iterator[Offer]:
    word, start = split_line(before)[-1], _word_start(before)
    sources: dict[str, Callable[[], Iterable[str]]] = {"[STORE]": known.stores, "[FEED]": known.feeds}
    if "FILE" in kind:
        yield from _paths(word, start)
        return
    found = sources[kind]() if kind in sources else _CHOICES.get(kind, ())
    yield from (Offer(shlex.quote(name), start) for name in found if name.startswith(word))


def _paths(word: str, start: int) -> Iterator[Offer]:
    """Offer the files and directories that begin like a word; hidden ones when it begins with a dot."""
    folder, _, beginning = word.rpartition("/")
    shown = f"{folder}/" if "/" in word else ""
    try:
        entries = sorted(Path(shown or ".").expanduser().iterdir())
    except (OSError, RuntimeError):
        return
    for entry in entries:
        if entry.name.startswith(beginning) and (beginning.startswith(".") or not entry.name.startswith(".")):
            name = shown + entry.name + ("/" if entry.is_dir() else "")
            yield Offer(_quoted_path(name), start)


def _quoted_path(name: str) -> str:
    """Quote a path so that a leading `~/` keeps its meaning."""
    home = "~/" if name.startswith("~/") else ""
    rest = name.removeprefix(home)
    return home + shlex.quote(rest) if rest else name


def _json(before: str, known: Known) -> Iterator[Offer]:
    """Offer the commands and names that a string of a typed command may hold."""
    match = _JSON_FIELD.search(before)
    if match is None:
        return
    field, word = match.groups()
    found = {"command": _tags, "feed": known.feeds}.get(field, known.stores)()
    yield from (Offer(name, match.start(2)) for name in sorted(found) if name.startswith(word))


def _tags() -> Iterable[str]:
    from dex.wcl.wire import command_tags

    return command_tags()
