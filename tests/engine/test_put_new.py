"""The fast way of many new rows, and the one by one way: the same results, state and journal (spec: S-01, S-06)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dex.engine.local import LocalEngine
from dex.engine.stores.rows import _MANY
from dex.wcl.commands import DefineFeed, DefineStateStore, FromFeed, NamedKey, PutRow
from dex.wcl.errors import Conflict, DexError, Refused
from tests.directories import fast_directory
from tests.engine.fakes import FakeClock
from tests.engine.state import state_of

DEFINE = DefineStateStore(name="s", named_keys=[NamedKey("u", unique=True), NamedKey("g")])

odd_puts = st.builds(
    PutRow,
    store=st.sampled_from(["s"] * 9 + ["nobody"]),
    key=st.sampled_from([b"a", b"b", b"seeded"]),
    payload=st.sampled_from([b"", b"x"]),
    named=st.dictionaries(st.sampled_from(["u", "g", "undeclared"]), st.sampled_from([0, 1, None, "seed"]), max_size=2),
    mutation_id=st.sampled_from([None] * 5 + ["m"]),
)


def _batch(places: list[tuple[int, PutRow]], size: int) -> list[PutRow]:
    """New rows without a fault, and some puts with one in between."""
    batch = [PutRow(store="s", key=b"new%02d" % i, payload=b"%d" % i, named={"u": f"new{i}"}) for i in range(size)]
    for place, put in places:
        batch.insert(place % (len(batch) + 1), put)
    return batch


def _outcome(result):
    return result.as_dict() if isinstance(result, DexError) else result


@pytest.mark.spec("S-01", "S-05", "S-06", "S-07")
@settings(max_examples=60, deadline=None, database=None)
@given(places=st.lists(st.tuples(st.integers(0, 40), odd_puts), max_size=4), size=st.integers(_MANY - 2, _MANY + 8))
def test_a_batch_gives_what_its_puts_give_one_by_one(places, size):
    batch = _batch(places, size)
    seed = PutRow(store="s", key=b"seeded", named={"u": "seed"})
    with fast_directory() as directory:
        clock = FakeClock()
        engines = [LocalEngine(directory / name, clock=clock) for name in ("batch", "single")]
        for engine in engines:
            engine.execute_many([DEFINE, seed])
        together = engines[0].execute_many(batch)
        one_by_one = [engines[1].execute_many([put])[0] for put in batch]
        for engine in engines:
            engine.close()
        assert [_outcome(result) for result in together] == [_outcome(result) for result in one_by_one]
        assert state_of(engines[0].path) == state_of(engines[1].path)


@pytest.mark.spec("S-01")
def test_new_rows_do_go_the_fast_way(local):
    """Else the test above compared the slow way with itself: the fast way is told by its single statement."""
    local.execute(DEFINE)
    seen: list[str] = []
    local._writer._connection.set_trace_callback(seen.append)
    local.execute_many(_batch([], _MANY))
    assert any("SAVEPOINT put_new" in statement for statement in seen)
    assert not any("ON CONFLICT" in statement for statement in seen)


@pytest.mark.spec("S-06")
def test_a_clash_inside_the_batch_loses_alone(local):
    local.execute(DEFINE)
    results = local.execute_many(_batch([(10, PutRow(store="s", key=b"thief", named={"u": "new3"}))], 20))
    assert [index for index, result in enumerate(results) if isinstance(result, Conflict)] == [10]
    assert results[10].holder == "new03"


@pytest.mark.spec("S-01")
def test_a_key_twice_in_the_batch_is_replaced_by_the_later(local):
    local.execute(DEFINE)
    results = local.execute_many(_batch([(20, PutRow(store="s", key=b"new03", payload=b"later"))], 20))
    assert [index for index, result in enumerate(results) if result.replaced] == [20]


@pytest.mark.spec("F-05")
def test_many_puts_to_a_store_that_takes_none_are_each_refused(local):
    local.execute_many([DefineFeed(name="f"), DefineStateStore(name="s", source=FromFeed("f"))])
    results = local.execute_many(_batch([], 20))
    assert all(isinstance(result, Refused) for result in results)
    assert local.execute(DefineFeed(name="g")).seq == 3
