"""Rows of a store as results: in tables and CSV one column for each declared key, whatever the rows have."""

from collections.abc import Iterable, Iterator
from typing import Any

from dex.cli.paging import declared_keys
from dex.cli.render.rows import rest_of
from dex.cli.rowcells import columns_for, to_cells
from dex.cli.session import Session
from dex.wcl.commands import StorePage, StoreRow, StoreRows
from dex.wcl.wire import to_json


def write_rows(session: Session, store: str, rows: Iterable[StoreRow]) -> None:
    """Write rows one at a time, as they are read.

    Raises:
        Refused: there is no such store.
    """
    columns = _columns(session, store)
    session.out.items(as_items(session.form, rows), columns)


def write_found(session: Session, store: str, found: StoreRows | StorePage) -> None:
    """Write an answer with rows and what it says beside them, which CSV leaves out."""
    columns = _columns(session, store)
    if not columns:
        session.out.result(found)
        return
    stream = session.out.stream(columns)
    if found.rows:
        stream.write(list(as_items(session.form, found.rows)), more=False)
    stream.end(rest_of(to_json(found)))


def write_row(session: Session, store: str, row: StoreRow) -> None:
    """Write one row."""
    if session.form == "csv":
        write_rows(session, store, [row])
    else:
        session.out.result(row)


def as_items(form: str, rows: Iterable[StoreRow]) -> Iterator[Any]:
    """Give rows as what a format writes: cells for CSV."""
    return map(to_cells, rows) if form == "csv" else iter(rows)


def _columns(session: Session, store: str) -> list[str]:
    return columns_for(declared_keys(session.engine, store)) if session.form in ("table", "csv") else []
