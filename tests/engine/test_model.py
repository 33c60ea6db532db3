"""Random histories against the model; each ends by replaying its journal into an empty file.

DEX_CHAOS_ROUNDS makes them ten times as many as it says.
"""

import os
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from dex.engine.housekeeping import Retention
from dex.engine.local import LocalEngine
from dex.engine.outcomes import RETENTION_MS
from dex.engine.replay import replay
from dex.wcl.commands import (
    AppendRecords,
    ClearStateStore,
    DefineFeed,
    DefineStateStore,
    DeleteRow,
    DescribeStateStore,
    DropFeed,
    DropStateStore,
    FeedRecord,
    FromFeed,
    GetBy,
    GetRow,
    Json,
    Manual,
    Metadata,
    NamedKey,
    PageRecords,
    PageRows,
    PutRow,
    RebuildStateStore,
    RecordKey,
)
from dex.wcl.errors import Refused
from tests.directories import fast_directory
from tests.engine.fakes import FakeClock
from tests.engine.model import Model, Store, comparable, same, told
from tests.engine.state import state_of

_EVERYTHING = Retention(max_bytes=2**60, max_age_ms=2**60)
MANUAL = [NamedKey("u", unique=True), NamedKey("g"), NamedKey("v", unique=True)]
SOURCED = [
    NamedKey("pp", unique=True, extractor=Metadata("pp")),
    NamedKey("n", unique=True, extractor=Json("n")),
    NamedKey("id", extractor=RecordKey()),
]
names = st.sampled_from(["m0", "m0", "m1", "over", "nobody"])
keys = st.sampled_from([b"a", b"b", b"c", b"d"])
values = st.sampled_from([1, True, "1", b"1", None, [1], ["1", None]])
ids = st.none() | st.sampled_from(["x", "y"])
named = st.dictionaries(st.sampled_from(["u", "g", "v", "u", "g", "v", "undeclared"]), values, max_size=2)
payloads = st.sampled_from([b"", b"p", b"\x00\xff"])
records = st.builds(
    FeedRecord,
    key=keys,
    payload=st.none() | st.sampled_from([b"", b'{"n": 1}', b'{"n": "1"}', b"{", b'{"n": true}']),
    metadata=st.dictionaries(st.just("pp"), st.sampled_from(["P", "Q"])),
)
puts = st.builds(PutRow, store=names, key=keys, payload=payloads, named=named, mutation_id=ids)
plain_puts = st.builds(
    PutRow,
    store=st.just("m0"),
    key=st.binary(min_size=1, max_size=1).map(lambda key: b"k%d" % key[0]),
    named=st.dictionaries(st.sampled_from("ug"), st.integers(0, 200), max_size=2),
)
mutations = st.one_of(
    puts,
    puts,
    st.builds(DeleteRow, store=names, key=keys, mutation_id=ids),
    st.builds(AppendRecords, feed=st.just("f"), records=st.lists(records, min_size=1, max_size=4), mutation_id=ids),
    st.builds(ClearStateStore, name=names, mutation_id=ids),
    st.builds(RebuildStateStore, name=names),
    st.builds(DefineStateStore, name=names, named_keys=st.sampled_from([MANUAL, []])),
)
endings = st.sampled_from([DropStateStore(name="m1"), DropStateStore(name="over"), DropFeed(name="f")])


class Histories(RuleBasedStateMachine):
    """One engine and its model; whatever is asked of both, they tell the same."""

    @initialize()
    def begin(self) -> None:
        self.stack = ExitStack()
        self.directory = self.stack.enter_context(fast_directory())
        self.clock = FakeClock()
        self.engine = self.open("data")
        self.model = Model()
        self.carry_out(
            DefineFeed(name="f"),
            DefineStateStore(name="m0", named_keys=MANUAL),
            DefineStateStore(name="over", source=FromFeed("f"), named_keys=SOURCED),
        )

    def open(self, directory: str) -> LocalEngine:
        return LocalEngine(self.directory / directory, clock=self.clock, retention=_EVERYTHING)

    def carry_out(self, *commands) -> None:
        expected = [comparable(self.model.apply(command, self.clock.ms)) for command in commands]
        assert [told(result) for result in self.engine.execute_many(commands)] == expected

    @rule(commands=st.lists(mutations, min_size=1, max_size=8))
    def mutate(self, commands) -> None:
        self.carry_out(*commands)

    @rule(commands=st.lists(plain_puts, min_size=16, max_size=24))
    def put_many(self, commands) -> None:
        self.carry_out(*commands)

    @rule(command=endings)
    def end(self, command) -> None:
        self.carry_out(command)

    @rule(ms=st.sampled_from([1, 1000, -5000, RETENTION_MS // 2, RETENTION_MS - 1, RETENTION_MS]))
    def move_the_clock(self, ms) -> None:
        self.clock.advance(ms)

    @rule()
    def reopen(self) -> None:
        self.engine.close()
        self.engine = self.open("data")

    @rule()
    def settle(self) -> None:
        self.engine.settle()

    @rule(name=names, key=keys, value=values, named_key=st.sampled_from(["u", "g", "pp", "n"]))
    def look_up(self, name, key, value, named_key) -> None:
        by_key = GetRow(store=name, key=key, strict=True, wait_ms=600_000)
        by_value = GetBy(store=name, named_key=named_key, value=value, strict=True, wait_ms=600_000)
        store = self.model.stores.get(name)
        if store is None or store.dropped:
            for command in (by_key, by_value):
                with pytest.raises(Refused):
                    self.engine.execute(command)
            return
        rows, _ = self.model.rows(store)
        row = self.engine.execute(by_key)
        assert (None if row is None else (row.payload, row.named)) == rows.get(key)
        if named_key in {declared.name for declared in store.keys}:
            unique_null = value is None and {declared.name: declared.unique for declared in store.keys}[named_key]
            matching = [
                key
                for key, (_, theirs) in sorted(rows.items())
                if named_key in theirs and same(theirs[named_key], value) and not unique_null
            ]
            assert [row.key for row in self.engine.execute(by_value).rows] == matching

    @invariant()
    def manual_stores_hold_the_models_rows(self) -> None:
        for name, store in self.model.stores.items():
            if not store.dropped and store.source == Manual():
                self.compare(name, store)

    def compare(self, name: str, store: Store) -> None:
        rows, lost = self.model.rows(store)
        page = self.engine.execute(PageRows(store=name, limit=10_000))
        assert [(row.key, (row.payload, row.named)) for row in page.rows] == sorted(rows.items())
        assert page.pinned_seq == self.model.seq
        description = self.engine.execute(DescribeStateStore(name=name))
        assert (description.rows, description.unique_conflicts) == (len(rows), lost)

    def teardown(self) -> None:
        try:
            self.engine.settle()
            for name, store in self.model.stores.items():
                if not store.dropped:
                    self.compare(name, store)
            if not self.model.feeds["f"].dropped:
                page = self.engine.execute(PageRecords(feed="f", limit=10_000))
                kept = [FeedRecord(key=r.key, payload=r.payload, metadata=r.metadata) for r in page.records]
                assert kept == self.model.feeds["f"].records
            self.engine.close()
            self.replayed_gives_the_same_state()
        finally:
            self.engine.close()
            self.stack.close()

    def replayed_gives_the_same_state(self) -> None:
        assert replay(self.engine.path, self.directory / "copy") == self.model.seq
        copy = self.open("copy")
        copy.settle()
        copy.close()
        assert state_of(copy.path) == state_of(self.engine.path)


TestHistories = pytest.mark.spec(
    "S-01", "S-03", "S-04", "S-05", "S-06", "S-07", "S-08", "S-10", "S-12", "S-13", "S-14", "W-05",
    "F-01", "F-02", "F-03", "F-04", "F-06", "F-07",
)(Histories.TestCase)  # fmt: skip
TestHistories.settings = settings(
    max_examples=int(os.environ.get("DEX_CHAOS_ROUNDS", "3")) * 10,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
