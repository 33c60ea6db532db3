"""Reading Feeds (spec: F-01, K-01)."""

from dex.engine.server.call import Call, Parameter
from dex.engine.server.route import Items, Request, Route, reads
from dex.engine.server.routes.parameters import CREATED, UPDATED, limit, position, wait
from dex.engine.server.streaming import part_size
from dex.wcl.commands import (
    MAX_PAGE,
    CommittedRecord,
    DescribeFeed,
    FeedDescription,
    FeedPage,
    FeedSummary,
    PageRecords,
    ShowFeeds,
)

_NAME = Parameter("name", str, "The feed's name.", example="accounts.events")


async def _tail(call: Call, request: Request) -> Items:
    feed, after = call.text("name"), call.get("after")
    if after is None:
        after = (await request.dispatcher.read(DescribeFeed(name=feed))).last_seq
    seen = request.dispatcher.journal.seen
    first = await request.dispatcher.read(PageRecords(feed=feed, after=after, limit=1))
    return _follow(first, seen, feed, after, request)


async def _follow(page: FeedPage, seen: int, feed: str, after: int, request: Request) -> Items:
    dispatcher, size = request.dispatcher, 1
    while not dispatcher.stopping.is_set():
        if page.records:
            after = page.records[-1].seq
            size = part_size([len(record.key) + len(record.payload or b"") for record in page.records])
            yield page.records
        else:
            await dispatcher.journal.beyond(seen)
        seen = dispatcher.journal.seen
        page = await dispatcher.read(PageRecords(feed=feed, after=after, limit=size))


_SUMMARY = FeedSummary(name="accounts.events", stage="active", stores=["accounts.by_email"])
_RECORD = CommittedRecord(1, b"e-1", {"source": "signup"}, b'{"email":"ann@example.test"}')

ROUTES = (
    Route(
        method="GET",
        path="/v1/feeds",
        summary="List the feeds that are not dropped, by name",
        tag="feeds",
        answer=reads(lambda _: ShowFeeds()),
        result=list[FeedSummary],
        result_example=[_SUMMARY],
    ),
    Route(
        method="GET",
        path="/v1/feeds/{name}",
        summary="Tell all about one feed, a dropped one included",
        tag="feeds",
        parts=(_NAME,),
        answer=reads(lambda call: DescribeFeed(name=call.text("name"))),
        result=FeedDescription,
        result_example=FeedDescription(
            name="accounts.events",
            stage="active",
            stores=["accounts.by_email"],
            records=1,
            bytes=31,
            last_seq=1,
            created_at=CREATED,
            updated_at=UPDATED,
        ),
    ),
    Route(
        method="GET",
        path="/v1/feeds/{name}/records",
        summary="Read a page of records in order; an empty one may wait for a record",
        tag="feeds",
        parts=(_NAME,),
        parameters=(
            position("The position to go on after."),
            limit(MAX_PAGE, 256, "records"),
            wait("How many milliseconds to wait for a record if there is none yet.", 0),
        ),
        answer=reads(lambda call: PageRecords(feed=call.text("name"), **call.given())),
        result=FeedPage,
        result_example=FeedPage([_RECORD], None),
    ),
    Route(
        method="GET",
        path="/v1/feeds/{name}/tail",
        summary="Stream records as they are committed, one JSON document a line, until the client goes away",
        tag="feeds",
        parts=(_NAME,),
        parameters=(position("The position to go on after; without it, the feed's end.", default=None),),
        answer=_tail,
        result=CommittedRecord,
        result_example=_RECORD,
        stream=True,
    ),
)
