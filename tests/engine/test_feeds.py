"""Feeds: committed, ordered logs of records."""

import pytest

from dex.wcl.commands import AppendRecords, CommittedRecord, DefineFeed, DescribeFeed, DropFeed, FeedRecord, PageRecords
from dex.wcl.errors import InvalidCommand, Refused
from tests.engine.conftest import ONE_FILE

MIB = 1024 * 1024


@pytest.fixture
def feed(engine) -> str:
    engine.execute(DefineFeed(name="accounts.events"))
    return "accounts.events"


def _append(engine, feed, *keys: bytes):
    return engine.execute(AppendRecords(feed=feed, records=[FeedRecord(key=key, payload=key) for key in keys]))


def _keys(engine, feed, **options) -> list[bytes]:
    return [record.key for record in engine.execute(PageRecords(feed=feed, **options)).records]


@pytest.mark.spec("F-01")
def test_a_record_keeps_key_metadata_and_payload_byte_for_byte(engine, feed):
    records = [
        FeedRecord(key=b"a\0\xff", payload=b"\x00\xff", metadata={"pp": "P1", "é": "", "": "nul\0"}),
        FeedRecord(key=b"k", payload=None),
        FeedRecord(key=b"k", payload=b""),
    ]
    appended = engine.execute(AppendRecords(feed=feed, records=records))
    assert (appended.first_seq, appended.seq, appended.replayed) == (1, 3, False)
    page = engine.execute(PageRecords(feed=feed))
    assert page.next is None
    assert page.records == [
        CommittedRecord(seq, record.key, record.metadata, record.payload) for seq, record in enumerate(records, 1)
    ]


@pytest.mark.spec("F-01")
def test_positions_are_a_feeds_own_and_have_no_gaps(engine, feed):
    engine.execute(DefineFeed(name="other"))
    assert _append(engine, feed, b"a", b"b").seq == 2
    assert _append(engine, "other", b"x").seq == 1
    with pytest.raises(Refused):
        _append(engine, "missing", b"x")
    assert _append(engine, feed, b"c").first_seq == 3
    assert _keys(engine, feed) == [b"a", b"b", b"c"]


@pytest.mark.spec("F-01")
@pytest.mark.parametrize("limit", [1, 2, 4, 5, 6])
def test_pages_give_every_record_once_in_order(engine, feed, limit):
    keys = [b"%d" % i for i in range(5)]
    _append(engine, feed, *keys)
    seen, after = [], 0
    while after is not None:
        page = engine.execute(PageRecords(feed=feed, after=after, limit=limit))
        seen += [record.key for record in page.records]
        assert page.next == (page.records[-1].seq if len(seen) < 5 else None)
        after = page.next
    assert seen == keys


@ONE_FILE  # the journal servers take less at once
@pytest.mark.spec("F-01")
def test_a_page_of_large_records_is_cut_short(engine, feed):
    records = [FeedRecord(key=b"k", payload=b"x" * MIB)] * 10
    engine.execute(AppendRecords(feed=feed, records=records))
    page = engine.execute(PageRecords(feed=feed))
    assert (len(page.records), page.next) == (8, 8)
    assert len(engine.execute(PageRecords(feed=feed, after=8)).records) == 2


@pytest.mark.spec("F-01")
def test_following_waits_for_a_record_and_gives_up_when_the_time_is_over(engine, feed, open_engine):
    """Another engine on the file appends while this one waits."""
    from threading import Timer

    assert _keys(engine, feed, wait_ms=5) == []
    other = open_engine()
    timer = Timer(0.05, _append, (other, feed, b"late"))
    timer.start()
    assert _keys(engine, feed, wait_ms=600_000) == [b"late"]
    timer.join()


@pytest.mark.spec("F-01")
def test_a_dropped_feed_ends_the_waiting(engine, feed, open_engine):
    from threading import Timer

    other = open_engine()
    timer = Timer(0.05, other.execute, (DropFeed(name=feed),))
    timer.start()
    with pytest.raises(Refused, match="dropped"):
        engine.execute(PageRecords(feed=feed, wait_ms=600_000))
    timer.join()


@pytest.mark.spec("F-01", "W-11")
def test_describe_counts_records_and_bytes(engine, feed, clock):
    assert engine.execute(DescribeFeed(name=feed)).last_seq == 0
    engine.execute(AppendRecords(feed=feed, records=[FeedRecord(key=b"ab", payload=b"cde"), FeedRecord(key=b"f")]))
    described = engine.execute(DescribeFeed(name=feed))
    assert (described.records, described.bytes, described.last_seq) == (2, 6, 2)
    assert described.created_at == "2023-11-14T22:13:20.000Z"


@pytest.mark.spec("F-01", "S-17")
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: AppendRecords(feed="f", records=[]), "1 to 10000 records, this one has 0; add a record"),
        (lambda: AppendRecords(feed="f", records=[FeedRecord(key=b"k")] * 10_001), "this one has 10001; split it"),
        (lambda: FeedRecord(key=b""), "cannot be empty"),
        (lambda: FeedRecord(key=b"x" * 4097), "4096"),
        (lambda: FeedRecord(key=b"k", payload=b"x" * (MIB + 1)), "1048576"),
        (lambda: FeedRecord(key=b"k", metadata={"a": "x" * 16384}), "16384"),
        (lambda: FeedRecord(key=b"k", metadata={"a": "\ud800"}), "surrogate"),
        (lambda: PageRecords(feed="f", limit=0), "limit is 0"),
        (lambda: PageRecords(feed="f", wait_ms=-1), "wait_ms is -1"),
    ],
)
def test_what_is_outside_a_limit_is_refused_with_the_limit(make, said):
    with pytest.raises(InvalidCommand, match=said):
        make()
