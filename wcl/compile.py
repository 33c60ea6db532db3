"""From what a script says to typed commands (spec: W-08)."""

from collections.abc import Callable
from typing import Any

from dex.wcl import ast, commands
from dex.wcl.commands import Command
from dex.wcl.errors import InvalidCommand


def compile_statement(node: ast.Statement) -> Command[Any]:
    """Give the typed command for one statement.

    Raises:
        InvalidCommand: the declaration breaks its contract; `place_at_fault` tells where (spec: W-07).
    """
    return _COMPILERS[type(node)](node)


def place_at_fault(node: ast.Statement, error: InvalidCommand) -> ast.Place:
    """Find the named key that an error names, of two the second one; or else the statement."""
    if not isinstance(node, ast.DefineStateStore):
        return node.place
    named = [key.place for key in node.keys if key.name == error.facts.get("named_key")]
    return [node.place, *named[:2]][-1]


def _define_state_store(node: ast.DefineStateStore) -> commands.DefineStateStore:
    return commands.DefineStateStore(
        name=node.name,
        source=commands.Manual() if node.feed is None else commands.FromFeed(node.feed),
        named_keys=[_named_key(key) for key in node.keys],
        if_not_exists=node.if_not_exists,
    )


def _named_key(key: ast.Key) -> commands.NamedKey:
    try:
        extractor = None if key.extractor is None else _EXTRACTORS[type(key.extractor)](key.extractor)
        return commands.NamedKey(key.name, key.unique, extractor)
    except InvalidCommand as error:
        error.facts = {"named_key": key.name, **error.facts}
        raise


_EXTRACTORS: dict[type, Callable[[Any], commands.Extractor]] = {
    ast.Metadata: lambda node: commands.Metadata(node.name),
    ast.Json: lambda node: commands.Json(node.path),
    ast.RecordKey: lambda _: commands.RecordKey(),
}

_COMPILERS: dict[type, Callable[[Any], Command[Any]]] = {
    ast.DefineStateStore: _define_state_store,
    ast.DropStateStore: lambda node: commands.DropStateStore(name=node.name, if_exists=node.if_exists),
    ast.DescribeStateStore: lambda node: commands.DescribeStateStore(name=node.name),
    ast.ShowStateStores: lambda _: commands.ShowStateStores(),
    ast.DefineFeed: lambda node: commands.DefineFeed(name=node.name, if_not_exists=node.if_not_exists),
    ast.DropFeed: lambda node: commands.DropFeed(name=node.name, if_exists=node.if_exists),
    ast.DescribeFeed: lambda node: commands.DescribeFeed(name=node.name),
    ast.ShowFeeds: lambda _: commands.ShowFeeds(),
}
