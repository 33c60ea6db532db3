"""The file of tokens: a YAML list whose entries have a name, a token and a scope (spec: K-02).

    - {name: dashboard, token: 7d1f…, scope: read}
    - {name: orders, token: 93b2…, scope: write}

No message shows anything of the file but names of its entries.
"""

import hashlib
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dex.engine.yamlfile import Fault, compose, entries, is_null, line_of
from dex.wcl.errors import InputError
from dex.wcl.names import did_you_mean
from dex.wcl.scopes import SCOPES, Scope

if TYPE_CHECKING:
    from yaml import Node

_KEYS = ("name", "token", "scope")
_NAME = re.compile(r"[A-Za-z0-9._@-]{1,64}")
_TOKEN = re.compile(r"[!-~]{16,512}")
_MOST_BYTES = 1024 * 1024


class Token(NamedTuple):
    """Whose token it is, what it allows, and its SHA-256."""

    name: str
    scope: Scope
    digest: bytes


def digest_of(token: bytes) -> bytes:
    """Give what is kept of a token in memory."""
    return hashlib.sha256(token).digest()


def read_tokens(path: Path) -> list[Token]:
    """Read a file of tokens.

    Raises:
        InputError: it cannot be read, others can read it, or it has a fault, told with its line.
    """
    root = compose(_text(path), str(path))
    items = [] if root is None or is_null(root) else _items(root)
    if not items:
        raise InputError(f"{path} has no tokens", "write a list of {name, token, scope}")
    found: list[Token] = []
    faults: list[Fault] = []
    for node in items:
        token = _token(node, faults)
        if token is not None and any(other.name == token.name for other in found):
            faults.append(Fault(line_of(node), f"the name {token.name!r} comes twice", "name each token differently"))
        elif token is not None and any(other.digest == token.digest for other in found):
            faults.append(Fault(line_of(node), f"{token.name!r} has the token of another name", "make each anew"))
        elif token is not None:
            found.append(token)
    if faults:
        line, message, remedy = min(faults)
        raise InputError(f"{path}:{line}: {message}", remedy, file=str(path), line=line)
    return found


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            _refuse_open(path, os.fstat(file.fileno()))
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", "check --tokens") from error
    if len(data) > _MOST_BYTES:
        raise InputError(f"{path} is larger than {_MOST_BYTES} bytes", "name a file of tokens")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8", "name a file of tokens") from error


def _refuse_open(path: Path, status: os.stat_result) -> None:
    """Refuse what ssh would for a private key: a file of one's own that others may read or write."""
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path} is not a file", "name a file of tokens")
    if status.st_uid == os.geteuid() and status.st_mode & 0o077:
        mode = stat.S_IMODE(status.st_mode)
        raise InputError(f"{path} has mode {mode:04o}, so that others may use its tokens", f"chmod 600 {path}")


def _items(root: "Node") -> "list[Node]":
    from yaml import SequenceNode

    return root.value if isinstance(root, SequenceNode) else [root]


def _token(node: "Node", faults: list[Fault]) -> Token | None:
    """Read one entry; None where it has a fault."""
    before = len(faults)
    found = entries(node, "an entry", faults) if _is_entry(node) else {}
    if set(found) != set(_KEYS):
        faults.append(
            Fault(line_of(node), "an entry has not name, token and scope", "write {name: …, token: …, scope: …}")
        )
        return None
    name, token, scope = (str(found[key].node.value) for key in _KEYS)
    if not _NAME.fullmatch(name):
        faults.append(Fault(found["name"].line, "the name is not 1 to 64 of A-Z a-z 0-9 . _ @ -", "name who has it"))
    if not _TOKEN.fullmatch(token):
        remedy = "make one with `openssl rand -hex 32`"
        faults.append(Fault(found["token"].line, "the token is not 16 to 512 characters of ASCII, no space", remedy))
    if scope not in SCOPES:
        remedy = did_you_mean(scope, SCOPES) or f"use {', '.join(SCOPES)}"
        faults.append(Fault(found["scope"].line, "the scope is none", remedy))
    return None if len(faults) > before else Token(name, scope, digest_of(token.encode()))  # type: ignore[arg-type]


def _is_entry(node: "Node") -> bool:
    """Tell whether a node is a mapping whose keys are all known: one that is not may be a token, never to be shown."""
    from yaml import MappingNode

    return isinstance(node, MappingNode) and all(str(key.value) in _KEYS for key, _ in node.value)
