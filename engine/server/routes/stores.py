"""Reading StateStores (spec: S-09 … S-12, K-01)."""

from dex.engine.server.call import Call, Parameter
from dex.engine.server.route import Items, Request, Route, reads
from dex.wcl.commands import (
    DEFAULT_WAIT_MS,
    DescribeStateStore,
    GetBy,
    GetRow,
    PageRows,
    ShowStateStores,
    StoreDescription,
    StorePage,
    StoreRow,
    StoreRows,
    StoreSummary,
)
from dex.wcl.errors import NotFound

_STRICT = (
    Parameter("strict", bool, "Wait until the store has all that is committed.", default=False),
    Parameter("wait_ms", int, "How long a strict read waits.", DEFAULT_WAIT_MS),
)
_PAGE_ROWS = 256


async def _get_row(call: Call, request: Request) -> StoreRow:
    command = GetRow(store=call.text("name"), key=call.blob("key"), **call.given())
    row = await request.dispatcher.execute(command)
    if row is None:
        raise NotFound(f"store {command.store!r} has no such row", "check the key, or list rows with …/rows")
    return row


def _get_by(call: Call) -> GetBy:
    named_key, value = call.text("named_key"), call.value("value")
    return GetBy(store=call.text("name"), named_key=named_key, value=value, **call.given())


async def _iterate(call: Call, request: Request) -> Items:
    store, after, left = call.get("store"), call.get("after"), call.get("limit")
    first = await request.dispatcher.execute(PageRows(store=store, after=after, limit=_size(left)))
    return _pages(first, store, left, request)


async def _pages(page: StorePage, store: str, left: int | None, request: Request) -> Items:
    while True:
        yield page.rows
        if left is not None:
            left -= len(page.rows)
        if page.next_key is None or left == 0:
            return
        page = await request.dispatcher.execute(PageRows(store=store, after=page.next_key, limit=_size(left)))


def _size(left: int | None) -> int:
    return _PAGE_ROWS if left is None else min(_PAGE_ROWS, left)


ROUTES = (
    Route(
        method="GET",
        path="/v1/state-stores",
        summary="List the stores that are not dropped, by name",
        tag="state-stores",
        answer=reads(lambda _: ShowStateStores()),
        result=list[StoreSummary],
    ),
    Route(
        method="GET",
        path="/v1/state-stores/iterate",
        summary="Stream the rows of a store in key order, one JSON document a line",
        tag="state-stores",
        parameters=(
            Parameter("store", str, "The store's name.", required=True),
            Parameter("limit", int, "How many rows at most."),
            Parameter("after", bytes, "The key to go on after."),
        ),
        answer=_iterate,
        result=StoreRow,
        stream=True,
    ),
    Route(
        method="GET",
        path="/v1/state-stores/{name}",
        summary="Tell all about one store, a dropped one included",
        tag="state-stores",
        answer=reads(lambda call: DescribeStateStore(name=call.text("name"))),
        result=StoreDescription,
    ),
    Route(
        method="GET",
        path="/v1/state-stores/{name}/rows",
        summary="Read a page of rows in key order",
        tag="state-stores",
        parameters=(
            Parameter("limit", int, "How many rows at most.", 256),
            Parameter("after", bytes, "The key to go on after."),
        ),
        answer=reads(lambda call: PageRows(store=call.text("name"), **call.given())),
        result=StorePage,
    ),
    Route(
        method="GET",
        path="/v1/state-stores/{name}/rows/{key}",
        summary="Read one row by its key",
        tag="state-stores",
        parameters=_STRICT,
        answer=_get_row,
        result=StoreRow,
        errors=(400, 404, 409),
    ),
    Route(
        method="GET",
        path="/v1/state-stores/{name}/by/{named_key}/{value}",
        summary="Read every row that carries a named value: text, or `:=JSON` for other types",
        tag="state-stores",
        parameters=_STRICT,
        answer=reads(_get_by),
        result=StoreRows,
        errors=(400, 409),
    ),
)
