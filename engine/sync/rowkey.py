"""Row keys: a template that splits each Flow ID into primary-key columns (spec: Y-08)."""

import re
from typing import NamedTuple

from dex.wcl.errors import InputError

ANYTHING = "*"
_PIECE = re.compile(r"\{([^{}]*)\}|[^{}]+")


class Placeholder(NamedTuple):
    """A part of a template that captures text, and the column that the text goes to."""

    column: str


class RowKey:
    """A parsed template, such as `order-{customer_id}-{order_id}`."""

    __slots__ = ("_parts", "columns", "template")

    def __init__(self, template: str) -> None:
        """Parse a template.

        Raises:
            InputError: a brace without its pair, a placeholder without name, two without text between them, a
                column twice, or none at all.
        """
        self.template = template
        self._parts = _parse(template)
        named = [part.column for part in self._parts if isinstance(part, Placeholder) and part.column != ANYTHING]
        twice = next((column for column in named if named.count(column) > 1), None)
        if twice is not None:
            raise _bad(template, f"names the column {twice!r} twice", "capture each column once; {*} stores nothing")
        if not named:
            raise _bad(template, "names no column", "write one such as order-{order_id}")
        self.columns = tuple(named)

    def split(self, flow_id: str) -> dict[str, str] | None:
        """Give the text of each column, or None for a Flow ID that does not match."""
        captured: dict[str, str] = {}
        rest = flow_id
        for at, part in enumerate(self._parts):
            if isinstance(part, str):
                if not rest.startswith(part):
                    return None
                rest = rest[len(part) :]
                continue
            # Literal text separates placeholders, so what follows one is text or the end.
            following = self._parts[at + 1] if at + 1 < len(self._parts) else None
            end = rest.find(following) if isinstance(following, str) else len(rest)
            if end <= 0:
                return None
            if part.column != ANYTHING:
                captured[part.column] = rest[:end]
            rest = rest[end:]
        return captured if not rest else None

    def __repr__(self) -> str:
        return f"RowKey({self.template!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowKey) and other.template == self.template

    def __hash__(self) -> int:
        return hash(self.template)


def _parse(template: str) -> tuple[str | Placeholder, ...]:
    parts: list[str | Placeholder] = []
    at = 0
    while at < len(template):
        piece = _PIECE.match(template, at)
        if piece is None:
            raise _bad(template, f"has a {template[at]} without its pair", "write placeholders as {column}")
        at = piece.end()
        column = piece[1]
        if column is None:
            parts.append(piece[0])
            continue
        if not column.strip():
            raise _bad(template, "has a placeholder without a name", "name a column, or write {*} to store nothing")
        if parts and isinstance(parts[-1], Placeholder):
            before = parts[-1].column
            raise _bad(template, f"has no text between {{{before}}} and {{{column}}}", "separate them, say by a dash")
        parts.append(Placeholder(column))
    return tuple(parts)


def _bad(template: str, problem: str, remedy: str) -> InputError:
    return InputError(f"the row key {template!r} {problem}", remedy, template=template)
