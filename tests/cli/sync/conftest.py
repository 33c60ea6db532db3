"""`dex` inside this process, beside a real PostgreSQL with the tables of samples/sync.sql."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.flow.conftest import InsideDex, dex
from tests.postgres import Database, Server, new_database, postgres

__all__ = ["dex", "postgres"]

SAMPLES = Path(__file__).parents[3] / "samples"
SECRET = "s3cr3t-w0rd"
VARIABLE = "DEX_ZD_ATTRIBUTE_STORE_DSN_ORDERS"


def secret_dsn(database: Database) -> str:
    """Give a connection string with a password, which the server does not ask for and nobody may see."""
    return database.dsn.replace("//dex@", f"//dex:{SECRET}@")


def write_config(home: Path, **stores: dict[str, object]) -> Path:
    """Write a configuration with these stores."""
    path = home / "stores.yaml"
    path.write_text(yaml.safe_dump({"attributeStore": {"stores": stores}}))
    return path


def new_shop(server: Server) -> Iterator[Database]:
    """Give a database with the tables of the sample."""
    with new_database(server) as database:
        database.execute("DROP TABLE dexzd_attribute_sync_fencing")
        database.execute((SAMPLES / "sync.sql").read_text())
        yield database


@pytest.fixture
def database(postgres: Server) -> Iterator[Database]:
    yield from new_shop(postgres)


@pytest.fixture
def shop(dex: InsideDex, database: Database) -> InsideDex:
    """`dex` that knows SyncedOrderFlow and syncs to the database."""
    dex.environ |= {
        "DEX_FLOWS": str(SAMPLES / "synced_orders.py"),
        "DEX_SYNC_CONFIG": str(SAMPLES / "sync.yaml"),
        VARIABLE: secret_dsn(database),
    }
    return dex
