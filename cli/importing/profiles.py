"""From records of a file to customer profiles, many upserts at once."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from dex.engine.flows.edge import from_edge
from dex.samples.customer_directory import CustomerDirectory, CustomerProfile
from dex.wcl.errors import DexError
from dex.wcl.jsontext import refuse_repeated_names

# Upserts that wait for the disk at the same time share a commit.
_THREADS = 16


def profile_from(record: dict[str, Any], raw: bytes) -> CustomerProfile:
    """Make a profile of a record with its four fields, in lowerCamelCase or snake_case.

    Raises:
        InputError: a field is given twice.
        ValueMappingError: a field is unknown, missing or no text.
    """
    refuse_repeated_names(raw, record, "the record")
    profile: CustomerProfile = from_edge(record, CustomerProfile)
    return profile


@contextmanager
def sender(directory: CustomerDirectory) -> Iterator[Callable[[list[CustomerProfile]], list[Any]]]:
    """Give the function that upserts a batch and gives for each profile what was kept, or the error."""

    def upsert(profile: CustomerProfile) -> CustomerProfile | DexError:
        try:
            return directory.upsert(profile)
        except DexError as error:
            return error

    pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="dex-upsert")
    try:
        yield lambda profiles: list(pool.map(upsert, profiles))
    finally:
        pool.shutdown(cancel_futures=True)
