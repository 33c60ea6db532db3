"""The fixed tables, as ordered migrations. Tables of rows and of feed records are made with their store or feed.

Only opening a file whose `user_version` is behind imports this module, because sqlite-utils costs as much to
import as a whole command takes to run.
"""

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

from dex.engine.sqlite.scripts import statements

migrations = Migrations("dex")


@migrations()
def m001_tables(db: Database) -> None:
    """The journal, the definitions of stores and feeds, and what serves them."""
    _run(db, "tables.sql")


@migrations()
def m002_flows(db: Database) -> None:
    """Runs of Flows and what they hold, and the outbox of Attribute Store sync."""
    _run(db, "flows.sql")


@migrations()
def m003_purged(db: Database) -> None:
    """The purged runs whose rows are still to be erased."""
    _run(db, "purged.sql")


@migrations()
def m004_cluster(db: Database) -> None:
    """Who owns a partition of a cluster."""
    _run(db, "cluster.sql")


@migrations()
def m005_counts(db: Database) -> None:
    """What runs are counted by."""
    _run(db, "counts.sql")


@migrations()
def m006_marks(db: Database) -> None:
    """Which messages of a cluster's stream were applied."""
    _run(db, "marks.sql")


@migrations()
def m007_messages(db: Database) -> None:
    """Which of a stream's messages each record of a cluster comes from."""
    _run(db, "messages.sql")


def _run(db: Database, script: str) -> None:
    for statement in statements(script):
        db.execute(statement)
