"""The fixed tables, as ordered migrations. Tables of rows and of feed records are made with their store or feed.

Only opening a file whose `user_version` is behind imports this module, because sqlite-utils costs as much to
import as a whole command takes to run.
"""

from pathlib import Path

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

migrations = Migrations("dex")


@migrations()
def m001_journal(db: Database) -> None:
    """Every committed mutation. `total` is the sum of record sizes so far, so that a size is two look-ups."""
    db.table("journal").create(
        {"seq": int, "at": int, "total": int, "record": bytes}, pk="seq", not_null={"at", "total", "record"}
    )


@migrations()
def m002_catalog(db: Database) -> None:
    """Definitions of stores and feeds; `catalog.version` rises with each change, so that caches know."""
    db.table("catalog").create({"id": int, "version": int}, pk="id", not_null={"version"})
    db.table("catalog").insert({"id": 1, "version": 0})
    db.table("feeds").create(
        {"id": int, "name": str, "dropped": int, "created_at": int, "updated_at": int},
        pk="id",
        not_null={"name", "dropped", "created_at", "updated_at"},
    )
    db.table("feeds").create_index(["name"], unique=True)
    db.table("stores").create(
        {
            "id": int,
            "name": str,
            "feed_id": int,
            "keys": str,
            "dropped": int,
            "generation": int,
            "next_generation": int,
            "created_at": int,
            "updated_at": int,
        },
        pk="id",
        not_null={"name", "keys", "dropped", "generation", "created_at", "updated_at"},
    )
    db.table("stores").create_index(["name"], unique=True)


@migrations()
def m003_outcomes(db: Database) -> None:
    """What became of each mutation that carried an id; `scope` is the store or feed it was sent to."""
    db.table("outcomes").create(
        {"seq": int, "scope": int, "mutation_id": str, "at": int, "digest": bytes, "outcome": bytes},
        pk="seq",
        not_null={"scope", "mutation_id", "at", "digest", "outcome"},
    )
    db.table("outcomes").create_index(["scope", "mutation_id"], unique=True)


@migrations()
def m004_progress(db: Database) -> None:
    """How far each table of a feed-sourced store has come: its last feed position, and rows that lost a posting."""
    db.table("progress").create(
        {"table_name": str, "cursor": int, "unique_conflicts": int},
        pk="table_name",
        not_null={"cursor", "unique_conflicts"},
    )


@migrations()
def m005_garbage(db: Database) -> None:
    """Tables that nobody reads any more, to be emptied in bounded passes and dropped."""
    db.table("garbage").create({"table_name": str}, pk="table_name")


@migrations()
def m006_flows(db: Database) -> None:
    """Runs of Flows, and what they hold."""
    script = Path(__file__).with_name("flows.sql").read_text(encoding="utf-8")
    lines = (line for line in script.splitlines() if not line.startswith("--"))
    for statement in "\n".join(lines).split(";"):
        db.execute(statement)
