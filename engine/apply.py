"""What applying a mutation gives, and the little that every apply function is handed."""

import sqlite3
from typing import Any

import msgspec

from dex.engine.catalog import Catalog


class Apply(msgspec.Struct):
    """The surroundings of one apply: the open transaction, what is defined, and the mutation's position and time.

    Apply functions read nothing else, so that the same journal gives the same state everywhere.
    """

    connection: sqlite3.Connection
    catalog: Catalog
    seq: int
    at: int


class Outcome(msgspec.Struct):
    """What became of a mutation. `wrote` is false where nothing changed, and then nothing is journaled."""

    result: Any
    wrote: bool = True
    changed_catalog: bool = False
