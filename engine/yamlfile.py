"""YAML files read strictly: every fault with its line, a repeated key with the lines of both (spec: X-01, Y-01).

Faults are collected, not raised, so that a reader may report the first one or all of them at once.
YAML is imported only when there is a file to read.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from dex.wcl.errors import InputError
from dex.wcl.names import did_you_mean

if TYPE_CHECKING:
    from yaml import Node


class Fault(NamedTuple):
    """What is wrong in one line of a file, and what to do about it."""

    line: int
    message: str
    remedy: str


class Entry(NamedTuple):
    """A key's line and its value."""

    line: int
    node: "Node"


def compose(text: str, path: str) -> "Node | None":
    """Give the root node of a YAML document, None for an empty one.

    Raises:
        InputError: it is not YAML, or is nested too deeply; with file and line.
    """
    import yaml

    try:
        return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(f"{path}:{line}: this is not YAML: {error.problem}", "correct the file") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InputError(f"{path}:{line}: this is not YAML: {error.reason}", "correct the file") from error
    except RecursionError as error:
        raise InputError(f"{path}: the values are nested too deeply", "correct the file") from error


def entries(node: "Node", what: str, faults: list[Fault]) -> dict[str, Entry]:
    """Give the entries of a mapping, none for null; `what` names it in a fault. Of a repeated key the first counts."""
    found: dict[str, Entry] = {}
    if not is_mapping(node):
        faults.append(Fault(line_of(node), f"{what} must be a mapping", "write it as `key: value` lines"))
        return found
    for key_node, value_node in node.value or ():
        key, line = str(key_node.value), line_of(key_node)
        if not (_is_text(key) and _is_text(value_node.value)):
            faults.append(Fault(line, f"in {what} the key {key!r} has a character that is no text", "leave it out"))
        elif key in found:
            twice = f"in {what} the key {key!r} comes twice, in lines {found[key].line} and {line}"
            faults.append(Fault(line, twice, "keep one of them"))
        else:
            found[key] = Entry(line, value_node)
    return found


def _is_text(value: object) -> bool:
    """Tell whether a scalar can be kept anywhere: escapes may stand for NUL and for halves of a character."""
    return not isinstance(value, str) or not any(each == "\0" or "\ud800" <= each <= "\udfff" for each in value)


def unknown_keys(found: dict[str, Entry], known: Iterable[str]) -> dict[str, Fault]:
    """Give a fault for each key that is not `known`, with the nearest one that is."""
    known = sorted(known)
    return {
        key: Fault(line, f"unknown key {key!r}", did_you_mean(key, known) or "known keys: " + ", ".join(known))
        for key, (line, _) in found.items()
        if key not in known
    }


def is_null(node: "Node") -> bool:
    """Tell whether a value is null or left out."""
    return node.tag == "tag:yaml.org,2002:null"


def is_mapping(node: "Node") -> bool:
    """Tell whether a value is a mapping; null counts as an empty one."""
    from yaml import MappingNode

    return isinstance(node, MappingNode) or is_null(node)


def line_of(node: "Node") -> int:
    """Give the line that a node begins in, from 1."""
    return int(node.start_mark.line) + 1
