"""A real PostgreSQL for tests: one server per test process, a database of its own for each test."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import psycopg
import pytest

from dex.samples.demo_postgres import Server, server_in
from tests.directories import fast_directory

__all__ = ["Database", "Server", "database", "new_database", "postgres", "running_server"]

FENCING_TABLE = """
CREATE TABLE dexzd_attribute_sync_fencing (
  store_name text NOT NULL,
  cluster_id text NOT NULL,
  scope text NOT NULL,
  fencing_token bigint NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (store_name, cluster_id, scope)
);
"""
_NAMES = count(1)
_FAR_FROM_UTC = ("timezone=Asia/Tokyo",)


class Database:
    """One test's own database."""

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.name = name
        self.dsn = server.dsn(name)
        # By a socket of the file system, which is reached from other network namespaces too.
        self.local_dsn = f"postgresql://dex@/{name}?host={server.folder / 'data'}&port={server.port}"

    def execute(self, statement: str) -> None:
        """Run statements."""
        self.server.execute(statement, self.name)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Give what a query finds."""
        with psycopg.connect(self.dsn, autocommit=True, client_encoding="UTF8") as connection:
            return connection.execute(query).fetchall()  # type: ignore[arg-type]  # tests write SQL as text


@contextmanager
def running_server() -> Iterator[Server]:
    """Give a server that is gone afterwards."""
    with fast_directory() as folder, server_in(folder, _FAR_FROM_UTC) as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """The server of this test process, with a template that has the fencing table."""
    with running_server() as server:
        server.execute("CREATE DATABASE dex_template")
        server.execute(FENCING_TABLE, "dex_template")
        yield server


@contextmanager
def new_database(server: Server) -> Iterator[Database]:
    """Give a database with the fencing table and nothing else, gone afterwards."""
    name = f"test_{next(_NAMES)}"
    server.execute(f"CREATE DATABASE {name} TEMPLATE dex_template STRATEGY file_copy")
    yield Database(server, name)
    server.resume()
    server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(postgres: Server) -> Iterator[Database]:
    """A database of the test's own."""
    with new_database(postgres) as database:
        yield database
