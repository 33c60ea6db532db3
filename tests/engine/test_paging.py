"""Pages and iteration: every row once, in byte order, whatever is written meanwhile."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dex.engine.client import Client
from dex.engine.local import LocalEngine
from dex.engine.statestore import StateStore
from dex.wcl.commands import MAX_PAGE, PutRow
from dex.wcl.errors import InvalidCommand, Refused
from tests.directories import fast_directory

MIB = 1024 * 1024


@pytest.fixture
def store(client: Client) -> StateStore:
    return client.state_stores.define(StateStore.named("accounts.employees").add_key("department"))


def _fill(engine, store, keys) -> None:
    engine.execute_many([PutRow(store=store.name, key=key, payload=b"v" + key) for key in keys])


@pytest.mark.spec("S-12")
def test_iterate_gives_every_row_in_byte_order(store, engine):
    keys = [bytes([byte]) for byte in range(256)] + [b"a\0", b"a\0b", b"ab", "é".encode(), b"\xff\xff"]
    _fill(engine, store, reversed(keys))
    assert [row.key for row in store.iterate()] == sorted(keys)


@pytest.mark.spec("S-12")
@pytest.mark.parametrize("limit", [1, 3, 9, 10, 11])
def test_pages_follow_one_another_and_the_last_has_no_next_key(store, engine, limit):
    keys = [f"{i}".encode() for i in range(10)]
    _fill(engine, store, keys)
    seen, after, pages = [], None, 0
    while True:
        page = store.page(limit=limit, after=after)
        assert 1 <= len(page.rows) <= limit
        seen += [row.key for row in page.rows]
        pages += 1
        if page.next_key is None:
            break
        assert page.next_key == page.rows[-1].key
        after = page.next_key
    assert seen == keys
    assert pages == -(-10 // limit)


@pytest.mark.spec("S-12")
def test_an_empty_page_has_no_next_key_and_a_pinned_position(store):
    page = store.page()
    assert (page.rows, page.next_key) == ([], None)
    assert page.pinned_seq == store.put("k", "").seq - 1
    assert store.page(after="k").rows == []
    assert store.page().pinned_seq == page.pinned_seq + 1


@pytest.mark.spec("S-12")
def test_a_page_has_256_rows_unless_told_otherwise(store, engine):
    _fill(engine, store, [f"{i:03}".encode() for i in range(257)])
    assert len(store.page().rows) == 256
    assert store.page().next_key == b"255"


@pytest.mark.spec("S-12")
def test_a_page_goes_on_after_a_key_that_need_not_exist(store, engine):
    _fill(engine, store, [b"a", b"c"])
    assert [row.key for row in store.page(after="b").rows] == [b"c"]
    assert [row.key for row in store.page(after=b"a\0").rows] == [b"c"]


@pytest.mark.spec("S-12")
def test_a_page_of_large_rows_is_cut_short_and_nothing_is_left_out(store, engine):
    keys = [f"{i:02}".encode() for i in range(20)]
    engine.execute_many([PutRow(store=store.name, key=key, payload=b"x" * MIB) for key in keys])
    page = store.page(limit=1000)
    assert len(page.rows) == 8
    assert page.next_key == b"07"
    assert [row.key for row in store.iterate()] == keys


@pytest.mark.spec("S-12", "S-17")
@pytest.mark.parametrize("limit", [0, -1, MAX_PAGE + 1])
def test_a_limit_outside_its_bounds_is_refused(store, limit):
    with pytest.raises(InvalidCommand, match=f"{limit}.*1 to {MAX_PAGE}"):
        store.page(limit=limit)


@pytest.mark.spec("S-12")
def test_a_row_present_throughout_is_seen_once_while_others_come_and_go(store, engine):
    """More rows than one of the iteration's own pages; some before and some after the reader are written."""
    stays = [f"m{i:05}".encode() for i in range(2500)]
    _fill(engine, store, stays)
    seen = []
    for row in store.iterate():
        seen.append(row.key)
        if len(seen) % 500 == 1:
            number = f"{len(seen):05}".encode()
            _fill(engine, store, [b"a" + number, b"z" + number, row.key])
            store.delete(b"z00001")
    assert [key for key in seen if key.startswith(b"m")] == stays
    assert seen == sorted(set(seen))


@pytest.mark.spec("S-12", "S-13")
def test_an_iteration_ends_early_where_the_store_is_cleared_and_is_refused_where_it_is_dropped(store, engine):
    _fill(engine, store, [f"{i:05}".encode() for i in range(1500)])
    rows = store.iterate()
    next(rows)
    store.clear()
    assert len(list(rows)) == 999
    _fill(engine, store, [f"{i:05}".encode() for i in range(1500)])
    rows = store.iterate()
    next(rows)
    store.drop()
    with pytest.raises(Refused, match="dropped"):
        list(rows)


keys = st.binary(min_size=1, max_size=3)


@pytest.mark.spec("S-01", "S-08", "S-12")
@settings(max_examples=25, deadline=None, database=None)
@given(writes=st.lists(st.tuples(st.booleans(), keys, st.binary(max_size=2)), max_size=40), limit=st.integers(1, 7))
def test_pages_give_what_a_sorted_dict_would(writes, limit):
    with fast_directory() as directory:
        client = Client(LocalEngine(directory))
        store = client.state_stores.define(StateStore.named("s"))
        model: dict[bytes, bytes] = {}
        for keep, key, payload in writes:
            if keep:
                assert store.put(key, payload).replaced is (key in model)
                model[key] = payload
            else:
                assert store.delete(key).existed is (model.pop(key, None) is not None)
        seen, after = [], None
        while True:
            page = store.page(limit, after)
            seen += [(row.key, row.payload) for row in page.rows]
            if page.next_key is None:
                break
            after = page.next_key
        assert seen == sorted(model.items())
        client.close()
