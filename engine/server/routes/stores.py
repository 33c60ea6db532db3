"""Reading StateStores (spec: S-09 … S-12, K-01)."""

from dex.engine.server.call import Call, Parameter
from dex.engine.server.route import Items, Request, Route, reads
from dex.engine.server.routes.parameters import CREATED, FRESH, UPDATED, limit, wait
from dex.engine.server.streaming import part_size
from dex.wcl.commands import (
    DEFAULT_WAIT_MS,
    MAX_PAGE,
    DescribeStateStore,
    GetBy,
    GetRow,
    Manual,
    NamedKey,
    PageRows,
    ShowStateStores,
    StoreDescription,
    StorePage,
    StoreRow,
    StoreRows,
    StoreSummary,
)
from dex.wcl.values import I64_MAX

_NAME = Parameter("name", str, "The store's name.", example="accounts.employees")
_KEY = Parameter("key", bytes, "The row's key; bytes that a path cannot have are percent-encoded.", example="e-1")
_AFTER = Parameter("after", bytes, "The key to go on after.", example="e-0")
_STRICT = (
    Parameter("strict", bool, "Wait until the store has all that is committed.", default=False, example=False),
    wait("How many milliseconds a strict read waits.", DEFAULT_WAIT_MS),
)


def _get_row(call: Call) -> GetRow:
    return GetRow(store=call.text("name"), key=call.blob("key"), required=True, **call.given())


def _get_by(call: Call) -> GetBy:
    named_key, value = call.text("named_key"), call.value("value")
    return GetBy(store=call.text("name"), named_key=named_key, value=value, **call.given())


async def _iterate(call: Call, request: Request) -> Items:
    store, after, left = call.get("store"), call.get("after"), call.get("limit")
    first = await request.dispatcher.read(PageRows(store=store, after=after, limit=1 if left is None else min(1, left)))
    return _parts(first, store, left, request)


async def _parts(page: StorePage, store: str, left: int | None, request: Request) -> Items:
    while True:
        size, key = part_size([len(row.key) + len(row.payload) for row in page.rows]), page.next_key
        left = None if left is None else left - len(page.rows)
        yield page.rows
        if key is None or left == 0:
            return
        limit = size if left is None else min(size, left)
        page = await request.dispatcher.read(PageRows(store=store, after=key, limit=limit))


_SUMMARY = StoreSummary(
    name="accounts.employees", stage="active", source=Manual(), keys=[NamedKey("email", unique=True)]
)
_ROW = StoreRow(b"e-1", b'{"name":"Ann"}', {"email": "ann@example.test"}, FRESH)

ROUTES = (
    Route(
        method="GET",
        path="/v1/state-stores",
        summary="List the stores that are not dropped, by name",
        tag="state-stores",
        answer=reads(lambda _: ShowStateStores()),
        result=list[StoreSummary],
        result_example=[_SUMMARY],
    ),
    Route(
        method="GET",
        path="/v1/state-stores/iterate",
        summary="Stream the rows of a store in key order, one JSON document a line",
        tag="state-stores",
        parameters=(
            Parameter("store", str, "The store's name.", example="accounts.employees", required=True),
            limit(I64_MAX, None, "rows"),
            _AFTER,
        ),
        answer=_iterate,
        result=StoreRow,
        result_example=_ROW,
        stream=True,
    ),
    Route(
        method="GET",
        path="/v1/state-stores/{name}",
        summary="Tell all about one store, a dropped one included",
        tag="state-stores",
        parts=(_NAME,),
        answer=reads(lambda call: DescribeStateStore(name=call.text("name"))),
        result=StoreDescription,
        result_example=StoreDescription(
            name="accounts.employees",
            stage="active",
            source=Manual(),
            keys=[NamedKey("email", unique=True)],
            rows=1,
            postings=1,
            bytes=17,
            applied_seq=12,
            committed_seq=12,
            behind=0,
            unique_conflicts=0,
            created_at=CREATED,
            updated_at=UPDATED,
        ),
    ),
    Route(
        method="GET",
        path="/v1/state-stores/{name}/rows",
        summary="Read a page of rows in key order",
        tag="state-stores",
        parts=(_NAME,),
        parameters=(limit(MAX_PAGE, 256, "rows"), _AFTER),
        answer=reads(lambda call: PageRows(store=call.text("name"), **call.given())),
        result=StorePage,
        result_example=StorePage([_ROW], None, 12),
    ),
    Route(
        method="GET",
        path="/v1/state-stores/{name}/rows/{key}",
        summary="Read one row by its key",
        tag="state-stores",
        parts=(_NAME, _KEY),
        parameters=_STRICT,
        answer=reads(_get_row),
        result=StoreRow,
        result_example=_ROW,
        errors=(404, 409),
    ),
    Route(
        method="GET",
        path="/v1/state-stores/{name}/by/{named_key}/{value}",
        summary="Read every row that carries a named value",
        tag="state-stores",
        parts=(
            _NAME,
            Parameter("named_key", str, "The named key.", example="email"),
            Parameter("value", str, "The value: text, or typed JSON after `:=`.", example="ann@example.test"),
        ),
        parameters=_STRICT,
        answer=reads(_get_by),
        result=StoreRows,
        result_example=StoreRows([_ROW], FRESH),
        errors=(409,),
    ),
)
