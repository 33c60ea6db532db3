"""The configuration file: YAML, with every unknown or repeated key refused (spec: X-01).

    context: staging
    output: table
    contexts:
      staging: {data-dir: /srv/dex, timeout: 30s}

YAML is imported only when there is a file to read.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

from dex.engine.yamlfile import Entry, Fault, compose, entries, line_of, unknown_keys
from dex.wcl.errors import InputError

if TYPE_CHECKING:
    from yaml import Node


_LISTS = frozenset({"flows"})
"""Settings that may be lists; they are kept as text with commas, as in the environment."""


_MAX_BYTES = 1024 * 1024


def default_path(environ: Mapping[str, str]) -> Path:
    """Give where the file is looked for when nobody says."""
    return base_dir(environ, "XDG_CONFIG_HOME", ".config") / "dex" / "config.yaml"


def base_dir(environ: Mapping[str, str], variable: str, under_home: str) -> Path:
    """Give an XDG base directory; a relative or empty value is ignored, and HOME may be missing."""
    given = Path(environ.get(variable, ""))
    if given.is_absolute():
        return given
    return Path(environ.get("HOME") or _home_of_user()) / under_home


def _home_of_user() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return "/"


def load(path: str, *, required: bool, known: frozenset[str]) -> dict[str, Any]:
    """Read the file; `known` are the names of settings.

    Gives scalars as text, as they would come from a flag. A missing file is an empty one unless `required`.

    Raises:
        InputError: it cannot be read, is not YAML, or has an unknown or repeated key; with file and line.
    """
    if not required and not _is_there(path):
        return {}
    root = _compose(path)
    return {} if root is None else _read_root(root, path, known)


def line_of_entry(path: str, *keys: str) -> int | None:
    """Give the line of what stands under these keys, one inside of the other; None if nobody can tell any more.

    The file is read again, so that nobody has to keep the lines of settings that are right; a pipe cannot be.

    Raises:
        InputError: as `load`.
    """
    node, line = _compose(path) if Path(path).is_file() else None, None
    for key in keys:
        found = _mapping(node, path, "the file").get(key) if node is not None else None
        if found is None:
            return None
        line, node = found
    return line


def _compose(path: str) -> "Node | None":
    from dex.cli.values import read_text

    return compose(read_text(path, _MAX_BYTES), path)


def _is_there(path: str) -> bool:
    """Tell whether the file that nobody has named is there; what cannot be a file of settings is not passed over.

    Raises:
        InputError: there is something else, or nobody can tell.
    """
    from dex.cli.values import unreadable

    try:
        mode = Path(path).stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        if Path(path).is_symlink():
            raise unreadable(path, error) from error
        return False
    except OSError as error:
        raise unreadable(path, error) from error
    if not S_ISREG(mode):
        raise InputError(f"the configuration {path} is not a file", "put a file there, or name one with --config")
    return True


def _read_root(root: "Node", path: str, known: frozenset[str]) -> dict[str, Any]:
    found = _mapping(root, path, "the file")
    config: dict[str, Any] = {}
    for key, node in _known(found, path, known | {"context", "contexts"}).items():
        if key != "contexts":
            config[key] = _scalar(node, path, key)
            continue
        config[key] = {}
        for name, (_, context) in _mapping(node, path, "contexts").items():
            settings = _known(_mapping(context, path, f"context {name!r}"), path, known)
            config[key][name] = {field: _scalar(value, path, field) for field, value in settings.items()}
    return config


def _mapping(node: "Node", path: str, what: str) -> dict[str, Entry]:
    """Give the entries of a mapping with their lines."""
    faults: list[Fault] = []
    found = entries(node, what, faults)
    _refuse_first(faults, path)
    return found


def _known(found: dict[str, Entry], path: str, known: frozenset[str]) -> dict[str, "Node"]:
    _refuse_first(unknown_keys(found, known).values(), path)
    return {key: node for key, (_, node) in found.items()}


def _refuse_first(faults: Iterable[Fault], path: str) -> None:
    for line, message, remedy in faults:
        raise InputError(f"{path}:{line}: {message}", remedy, file=path, line=line)


def _scalar(node: "Node", path: str, key: str) -> str:
    from yaml import ScalarNode, SequenceNode

    if key in _LISTS and isinstance(node, SequenceNode):
        return ",".join(_scalar(item, path, f"an item of {key}") for item in node.value)
    if not isinstance(node, ScalarNode):
        raise InputError(f"{path}:{line_of(node)}: {key} must be a single value", "write `key: value`")
    return str(node.value)


def save(path: str, config: Mapping[str, Any]) -> None:
    """Write the file anew, a new one readable by its owner only; a reader sees the old or the new one, never a part.

    Raises:
        InputError: it cannot be written.
    """
    import yaml

    from dex.cli.files import whole_file

    text = yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True)
    try:
        Path(path).absolute().parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path, 0o600) as file:
            file.write(text.encode())
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}",
            "check its permissions or name another file with --config",
        ) from error
