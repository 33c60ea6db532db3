"""The StateStore of the SDK, as the guide tells it: a spec, then bound, holding no rows."""

from uuid import UUID, uuid4

import pytest

import dex
from dex import Extractor, StateStore
from dex.engine.client import connect
from dex.wcl.commands import AppendRecords, FeedRecord
from dex.wcl.errors import Conflict, InvalidCommand, Refused


@pytest.fixture
def untouched(data_dir):
    """A client of a directory that is made by the first call: while it is not there, nothing was called."""
    with connect(data_dir) as client:
        yield client
        assert not data_dir.exists()


@pytest.mark.spec("S-01", "S-09", "S-10", "S-12", "S-13", "S-14", "S-15")
def test_the_guide_from_top_to_bottom(client):
    store = StateStore.named("accounts.employees").add_key("passport", unique=True).add_key("department")
    store = client.state_stores.define(store)
    store.put(b"user-1", b"profile-1", named={"passport": "P111", "department": "eng"})
    seq = store.put(b"user-2", b"profile-2", named={"department": "eng"}, mutation_id=uuid4()).seq
    row = store.get(b"user-1")
    assert row.payload == b"profile-1"
    assert (row.freshness.applied_seq, row.freshness.committed_seq, row.freshness.behind) == (seq, seq, 0)
    rows = store.get_by("department", "eng")
    assert [row.key for row in rows.rows] == [b"user-1", b"user-2"]
    assert rows.freshness.behind == 0
    assert store.get_by("passport", "P111", strict=True, wait_ms=1000).rows[0].key == b"user-1"
    assert [row.key for row in store.iterate()] == [b"user-1", b"user-2"]
    page = store.page(limit=256)
    assert (page.next_key, page.pinned_seq) == (None, store.get(b"user-1").freshness.applied_seq)
    store.delete(b"user-1")
    store.clear()
    assert store.get("user-2") is None
    client.state_stores.drop(store.name)
    assert client.state_stores.describe(store.name).stage == "dropped"


@pytest.mark.spec("F-02", "F-03", "F-05")
def test_the_guide_of_feed_sourced_stores(client):
    client.wcl("DEFINE FEED accounts.events")
    spec = (
        StateStore.named("accounts.tagged")
        .add_key("passport", unique=True, extractor=Extractor.metadata("pp"))
        .add_key("department", extractor=Extractor.json("dept"))
    )
    store = client.state_stores.define(spec, source="accounts.events")
    record = FeedRecord(key=b"r", payload=b'{"dept": "eng"}', metadata={"pp": "P1"})
    client.execute(AppendRecords(feed="accounts.events", records=[record]))
    assert store.get_by("department", "eng").rows[0].named == {"passport": "P1", "department": "eng"}


@pytest.mark.spec("S-15", "S-17")
@pytest.mark.parametrize(
    "call",
    [
        lambda spec: spec.put("k", "v"),
        lambda spec: spec.delete("k"),
        lambda spec: spec.get("k"),
        lambda spec: spec.get_by("k", 1),
        lambda spec: spec.iterate(),
        lambda spec: spec.page(),
        lambda spec: spec.clear(),
        lambda spec: spec.drop(),
    ],
)
def test_a_data_call_on_a_spec_is_a_value_error_that_says_how_to_bind(call):
    with pytest.raises(ValueError, match=r"client\.state_stores\.define\(spec\) or client\.state_store\(name\)"):
        call(StateStore.named("s").add_key("k"))


@pytest.mark.spec("S-15", "F-05", "S-17")
def test_keys_and_source_that_do_not_fit_are_value_errors_before_any_call(untouched):
    bare = StateStore.named("s").add_key("passport", unique=True)
    with pytest.raises(ValueError, match="'passport' of feed-sourced store 's' has no extractor"):
        untouched.state_stores.define(bare, source="accounts.events")
    extracting = StateStore.named("s").add_key("passport", extractor=Extractor.record_key())
    with pytest.raises(ValueError, match="'passport' of manual store 's' has an extractor"):
        untouched.state_stores.define(extracting)
    with pytest.raises(ValueError, match="feed name cannot be blank"):
        untouched.state_stores.define(StateStore.named("s"), source="")


@pytest.mark.spec("W-07", "S-16", "S-17")
def test_the_11th_a_duplicate_and_a_blank_key_are_value_errors(untouched):
    assert StateStore.MAX_NAMED_KEYS == 10
    spec = StateStore.named("s")
    for i in range(StateStore.MAX_NAMED_KEYS):
        assert spec.add_key(f"k{i}") is spec
    with pytest.raises(ValueError, match="10 is the limit"):
        spec.add_key("k10")
    with pytest.raises(ValueError, match="declared twice"):
        StateStore.named("s").add_key("a").add_key("a", unique=True)
    for blank in ("", "  ", None):
        with pytest.raises(ValueError, match="blank"):
            StateStore.named("s").add_key(blank)
    assert len(spec.definition().named_keys) == 10


@pytest.mark.spec("S-15", "S-17")
@pytest.mark.parametrize("name", ["", " ", "a..b", ".a", "a.", "a\nb", "x" * 256, None])
def test_a_name_that_is_none_is_a_value_error(name):
    with pytest.raises(ValueError, match="store name"):
        StateStore.named(name)


@pytest.mark.spec("F-03", "S-17")
@pytest.mark.parametrize(
    "make", [lambda: Extractor.metadata(""), lambda: Extractor.json("a..b"), lambda: Extractor.json("")]
)
def test_an_extractor_without_a_name_or_path_is_a_value_error(make):
    with pytest.raises(ValueError, match=r"METADATA|JSON"):
        make()


@pytest.mark.spec("S-18")
def test_state_store_binds_one_that_exists_and_refuses_another_with_the_nearest_names(client):
    client.wcl("DEFINE STATESTORE accounts.employees")
    client.state_store("accounts.employees").put("k", "v")
    assert client.state_store("accounts.employees").get("k").payload == b"v"
    with pytest.raises(Refused, match=r"did you mean accounts\.employees\?"):
        client.state_store("accounts.employee")
    client.wcl("DROP STATESTORE accounts.employees")
    with pytest.raises(Refused, match="dropped"):
        client.state_store("accounts.employees")


@pytest.mark.spec("S-15")
def test_a_key_added_after_define_changes_nothing_on_the_store(client):
    store = client.state_stores.define(StateStore.named("s"))
    store.add_key("late")
    with pytest.raises(Refused, match="no named key 'late'"):
        store.put("k", "v", {"late": 1})


@pytest.mark.spec("S-15")
def test_a_spec_stays_a_spec_and_a_facade_holds_no_rows(client):
    spec = StateStore.named("s")
    bound = client.state_stores.define(spec)
    with pytest.raises(ValueError, match="not bound"):
        spec.get("k")
    other = client.state_store("s")
    bound.put("k", "1")
    other.put("k", "2")
    assert bound.get("k").payload == b"2"


@pytest.mark.spec("S-07")
def test_a_mutation_id_may_be_a_uuid_or_its_text(client):
    store = client.state_stores.define(StateStore.named("s"))
    mutation = UUID(int=7)
    store.put("k", "v", mutation_id=mutation)
    assert store.put("k", "v", mutation_id=str(mutation)).replayed
    with pytest.raises(Conflict):
        store.delete("k", mutation_id=mutation)


@pytest.mark.spec("S-17")
def test_errors_are_of_four_kinds_with_their_codes():
    assert {error.__name__: error.status for error in (dex.Refused, dex.Conflict, dex.Unavailable)} == {
        "Refused": 400,
        "Conflict": 409,
        "Unavailable": 503,
    }
    assert issubclass(InvalidCommand, ValueError)
    assert issubclass(InvalidCommand, dex.Refused)


@pytest.mark.spec("S-12", "S-17")
def test_a_client_is_a_context_manager_and_a_closed_one_is_unavailable(data_dir):
    with dex.connect(data_dir) as client:
        store = client.state_stores.define(StateStore.named("s"))
        store.put("k", "v")
    for call in (
        lambda: store.put("k", "w"),
        lambda: store.get("k"),
        lambda: store.get("k", strict=True),
        client.state_stores.list,
    ):
        with pytest.raises(dex.Unavailable, match="closed"):
            call()
    client.close()
