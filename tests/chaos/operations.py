"""The numbered operations that are killed and retried: what each does, and how to see whether it happened."""

import sys

from dex.engine.client import Client, connect
from dex.wcl.commands import AppendRecords, FeedRecord, GetRow, PageRecords, PutRow
from dex.wcl.errors import DexError

SETUP = (
    "DEFINE STATESTORE IF NOT EXISTS s KEYS u UNIQUE, g; DEFINE FEED IF NOT EXISTS f;"
    " DEFINE STATESTORE IF NOT EXISTS over FROM FEED f KEYS id = RECORD_KEY UNIQUE"
)
BATCH = 20


def carry_out(client: Client, number: int) -> bool:
    """Do the operation of this number; tell whether it was a replay. Only batches have no mutation id."""
    key = b"%06d" % number
    if number % 4 == 3:
        records = [FeedRecord(key=key, payload=key), FeedRecord(key=key + b"+", payload=key)]
        return client.execute(AppendRecords(feed="f", records=records, mutation_id=f"m{number}")).replayed
    if number % 4 == 2:
        puts = [PutRow(store="s", key=key + b"-%d" % i, payload=key, named={"g": number}) for i in range(BATCH)]
        for result in client.engine.execute_many(puts):
            if isinstance(result, DexError):
                raise result
        return False
    put = PutRow(store="s", key=key, payload=key, named={"u": number}, mutation_id=f"m{number}")
    return client.execute(put).replayed


def traces(client: Client, number: int) -> int:
    """Give how many rows and records the operation of this number has left: 0, or all of them."""
    key = b"%06d" % number
    if number % 4 == 3:
        rows = [client.execute(GetRow(store="over", key=key + end, strict=True)) for end in (b"", b"+")]
        records = [record for record in _records(client) if record.key in {key, key + b"+"}]
        assert len(records) == sum(row is not None for row in rows)
        return len(records)
    if number % 4 == 2:
        return len(client.state_store("s").get_by("g", number).rows)
    by_key, by_value = client.state_store("s").get(key), client.state_store("s").get_by("u", number).rows
    assert [row.key for row in by_value] == ([] if by_key is None else [key])
    return len(by_value)


def expected(number: int) -> int:
    """Give how many traces an operation leaves."""
    return {2: BATCH, 3: 2}.get(number % 4, 1)


def _records(client: Client) -> list:
    records, after = [], 0
    while after is not None:
        page = client.execute(PageRecords(feed="f", after=after, limit=10_000))
        records += page.records
        after = page.next
    return records


def main() -> None:
    """Carry out operations from a number on for ever, and print the number of each once it is acknowledged."""
    directory, number = sys.argv[1], int(sys.argv[2])
    client = connect(directory)
    client.wcl(SETUP)
    while True:
        carry_out(client, number)
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        number += 1


if __name__ == "__main__":
    main()
