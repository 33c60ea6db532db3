"""Every typed command and result: the one vocabulary that WCL, JSON, the SDK and the command line share.

`AnyCommand` is the union of the commands on stores and feeds; those on Flows are in `dex.wcl.commands.flows`, which
stores and feeds start faster without. `dex.wcl.wire` turns commands and results into JSON and back.
"""

from typing import TypeAlias

from dex.wcl.commands.base import Command, Freshness
from dex.wcl.commands.feeds import (
    AppendRecords,
    CommittedRecord,
    DefineFeed,
    DescribeFeed,
    DropFeed,
    FeedDefined,
    FeedDescription,
    FeedPage,
    FeedRecord,
    FeedSummary,
    PageRecords,
    RecordsAppended,
    ShowFeeds,
)
from dex.wcl.commands.stores import (
    DEFAULT_WAIT_MS,
    MAX_NAMED_KEYS,
    MAX_PAGE,
    ClearStateStore,
    DefineStateStore,
    DeleteRow,
    DescribeStateStore,
    Dropped,
    DropStateStore,
    Extractor,
    FromFeed,
    GetBy,
    GetRow,
    Json,
    Manual,
    Metadata,
    NamedKey,
    PageRows,
    PutRow,
    RebuildStateStore,
    RecordKey,
    RowDeleted,
    RowWritten,
    ShowFreshness,
    ShowStateStores,
    Source,
    StoreCleared,
    StoreDefined,
    StoreDescription,
    StorePage,
    StoreRebuilt,
    StoreRow,
    StoreRows,
    StoreSummary,
    Written,
    check_named_keys,
)

Statement: TypeAlias = (
    DefineStateStore
    | DropStateStore
    | DescribeStateStore
    | ShowStateStores
    | DefineFeed
    | DropFeed
    | DescribeFeed
    | ShowFeeds
)
"""The commands that WCL can spell."""

AnyCommand: TypeAlias = (
    Statement
    | RebuildStateStore
    | PutRow
    | DeleteRow
    | ClearStateStore
    | GetRow
    | GetBy
    | PageRows
    | AppendRecords
    | PageRecords
    | ShowFreshness
)

__all__ = [
    "DEFAULT_WAIT_MS",
    "MAX_NAMED_KEYS",
    "MAX_PAGE",
    "AnyCommand",
    "AppendRecords",
    "ClearStateStore",
    "Command",
    "CommittedRecord",
    "DefineFeed",
    "DefineStateStore",
    "DeleteRow",
    "DescribeFeed",
    "DescribeStateStore",
    "DropFeed",
    "DropStateStore",
    "Dropped",
    "Extractor",
    "FeedDefined",
    "FeedDescription",
    "FeedPage",
    "FeedRecord",
    "FeedSummary",
    "Freshness",
    "FromFeed",
    "GetBy",
    "GetRow",
    "Json",
    "Manual",
    "Metadata",
    "NamedKey",
    "PageRecords",
    "PageRows",
    "PutRow",
    "RebuildStateStore",
    "RecordKey",
    "RecordsAppended",
    "RowDeleted",
    "RowWritten",
    "ShowFeeds",
    "ShowFreshness",
    "ShowStateStores",
    "Source",
    "Statement",
    "StoreCleared",
    "StoreDefined",
    "StoreDescription",
    "StorePage",
    "StoreRebuilt",
    "StoreRow",
    "StoreRows",
    "StoreSummary",
    "Written",
    "check_named_keys",
]
