"""The names of the Attribute Stores in a configuration, which is all that starting a Flow needs of it (spec: Y-04).

Nothing else of the file is judged here, and neither psycopg nor a DSN is asked for.
"""

import os
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path

from dex.engine.yamlfile import Entry, Fault, compose, entries
from dex.wcl.errors import InputError


class StoreNames(Collection[str]):
    """The names in the file at `path`, read when one is first asked for; None for no file and no names.

    Raises:
        InputError: at the first question, where the file cannot be read or is not YAML; with its line.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = path

    @cached_property
    def _names(self) -> list[str]:
        return [] if self._path is None else store_names(self._path)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def read_config(path: str | os.PathLike[str]) -> str:
    """Give the text of a configuration.

    Raises:
        InputError: it cannot be read, or is not UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", "check the name and its permissions") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text", "save it as UTF-8") from error


def store_names(path: str | os.PathLike[str]) -> list[str]:
    """Give the names of the stores that a configuration has, in its order.

    Raises:
        InputError: the file cannot be read, is not YAML, or has no mapping where the stores are; with its line.
    """
    root = compose(read_config(path), str(path))
    faults: list[Fault] = []
    found: dict[str, Entry] = {} if root is None else entries(root, "the file", faults)
    for key in ("attributeStore", "stores"):
        found = entries(found[key].node, key, faults) if key in found else {}
    if faults:
        line, message, remedy = min(faults)
        raise InputError(f"{path}:{line}: {message}", remedy)
    return list(found)
