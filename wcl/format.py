"""From typed commands to canonical WCL: one line, keywords in capitals, quotes only where they are needed."""

from collections.abc import Callable
from typing import Any

from dex.wcl import commands
from dex.wcl.commands import Command
from dex.wcl.errors import InvalidCommand
from dex.wcl.lexemes import is_bare, quote


def format_command(command: Command[Any]) -> str:
    """Give the WCL of a command that WCL can spell; parsing it gives the command again (spec: W-08).

    Raises:
        InvalidCommand: the command is an operation on rows or records, which WCL does not have.
    """
    formatter = _FORMATTERS.get(type(command))
    if formatter is None:
        tag = command.__struct_config__.tag
        raise InvalidCommand(f"{tag} has no WCL form", "send it as a typed command", command=tag)
    return formatter(command)


def format_name(name: str) -> str:
    """Write a dotted name, in quotes each segment that is a keyword or not a bare word."""
    segments = name.split(".")
    if not all(segments):
        return quote(name)
    return ".".join(segment if is_bare(segment) else quote(segment) for segment in segments)


def _string(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _define_state_store(command: commands.DefineStateStore) -> str:
    text = f"DEFINE STATESTORE {_if_not_exists(command)}{format_name(command.name)}"
    if isinstance(command.source, commands.FromFeed):
        text += f" FROM FEED {format_name(command.source.feed)}"
    if command.named_keys:
        text += " KEYS " + ", ".join(format_named_key(key) for key in command.named_keys)
    return text


def format_named_key(key: commands.NamedKey) -> str:
    """Write a declared key: `passport = METADATA 'pp' UNIQUE`."""
    text = format_name(key.name)
    if key.extractor is not None:
        text += f" = {_EXTRACTORS[type(key.extractor)](key.extractor)}"
    return text + " UNIQUE" if key.unique else text


def _if_not_exists(command: commands.DefineStateStore | commands.DefineFeed) -> str:
    return "IF NOT EXISTS " if command.if_not_exists else ""


def _if_exists(command: commands.DropStateStore | commands.DropFeed) -> str:
    return "IF EXISTS " if command.if_exists else ""


_EXTRACTORS: dict[type, Callable[[Any], str]] = {
    commands.Metadata: lambda extractor: f"METADATA {_string(extractor.name)}",
    commands.Json: lambda extractor: f"JSON {_string(extractor.path)}",
    commands.RecordKey: lambda _: "RECORD_KEY",
}

_FORMATTERS: dict[type, Callable[[Any], str]] = {
    commands.DefineStateStore: _define_state_store,
    commands.DropStateStore: lambda c: f"DROP STATESTORE {_if_exists(c)}{format_name(c.name)}",
    commands.DescribeStateStore: lambda c: f"DESCRIBE STATESTORE {format_name(c.name)}",
    commands.ShowStateStores: lambda _: "SHOW STATESTORES",
    commands.DefineFeed: lambda c: f"DEFINE FEED {_if_not_exists(c)}{format_name(c.name)}",
    commands.DropFeed: lambda c: f"DROP FEED {_if_exists(c)}{format_name(c.name)}",
    commands.DescribeFeed: lambda c: f"DESCRIBE FEED {format_name(c.name)}",
    commands.ShowFeeds: lambda _: "SHOW FEEDS",
}
