"""The Typer app. Only the module of the command that runs is imported; the rest is this table.

The path of a command is the path of its module: `dex store get` is `dex.cli.commands.store.get`, which has a
function `run` and its `EXAMPLES`.
"""

from __future__ import annotations

import keyword
import os
from importlib import import_module
from typing import Any, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup

from dex.cli.deadline import Expired, deadline
from dex.cli.globals import GLOBAL_OPTIONS, VERSION, given
from dex.cli.interrupts import Interruptible
from dex.cli.session import Host
from dex.cli.settings import early_timeout

Table: TypeAlias = "dict[str, str | tuple[str, Table]]"

COMMANDS: Table = {
    "shell": "Open the shell, as dex alone does.",
    "wcl": "Run WCL statements.",
    "batch": "Run WCL files, one record for each statement.",
    "command": "Run typed commands given as JSON.",
    "store": (
        "Declare, fill and read StateStores.",
        {
            "list": "List stores.",
            "define": "Declare a store.",
            "describe": "Tell all about one store.",
            "put": "Write a row.",
            "get": "Read a row by its key.",
            "get-by": "Read the rows that carry a named value.",
            "delete": "Remove a row.",
            "clear": "Empty a store.",
            "drop": "Drop a store for good.",
            "rebuild": "Materialise a feed-sourced store anew.",
            "page": "Read one page of rows.",
            "iterate": "Read every row in key order.",
            "import": "Put rows from a file.",
            "export": "Write every row to a file.",
        },
    ),
    "feed": (
        "Declare, fill and read Feeds.",
        {
            "define": "Declare a feed.",
            "list": "List feeds.",
            "describe": "Tell all about one feed.",
            "drop": "Drop a feed for good.",
            "append": "Append a record.",
            "import": "Append records from a file.",
            "export": "Write every record to a file.",
            "page": "Read one page of records.",
            "tail": "Follow a feed.",
        },
    ),
    "flow": (
        "Start, call, inspect and stop Flows.",
        {
            "types": "List the Flow definitions that are loaded.",
            "start": "Start a Flow.",
            "invoke": "Call an RPC.",
            "search": "Find runs, the newest first.",
            "describe": "Tell all about one run.",
            "state": "Tell what a run holds now: Steps that are not over, and pending messages.",
            "history": "Read the events of a run: one for each commit.",
            "watch": "Follow the events of a run.",
            "get": "Read attributes.",
            "set": "Write attributes, all in one commit.",
            "publish": "Publish messages to a Channel, all in one commit.",
            "messages": "List the pending messages of a Channel, the oldest first.",
            "delete-messages": "Delete pending messages of a Channel, all of them or none.",
            "wait": "Wait until a run is closed, and tell how it ended.",
            "wait-step": "Wait until a Step is over.",
            "wait-attribute": "Wait until an attribute has a value.",
            "skip-timer": "Fire a timer of a waiting Step now.",
            "stop": "Close a run at once.",
            "time-travel": "Go on from a past state in a new run.",
            "purge": "Delete a closed run with all it holds, its history included.",
            "run": "Work Steps and timers in the foreground.",
        },
    ),
    "profile": (
        "Keep customer profiles by email address, in a hash-partitioned AttributeMap.",
        {
            "start": "Start the directory.",
            "upsert": "Add or replace a profile.",
            "get": "Read a profile by email address.",
            "import": "Upsert profiles from a file.",
        },
    ),
    "subscriber": (
        "Keep subscribers in order, in a sequentially chunked AttributeMap.",
        {
            "start": "Start the list.",
            "register": "Append a subscriber.",
            "page": "Read one page, the newest first.",
            "list": "Read subscribers, the newest first, page after page.",
        },
    ),
    "sync": (
        "Write Attributes of Flows to tables of your own PostgreSQL.",
        {
            "check": "Check the configuration, connections and tables, and show what maps where.",
            "run": "Write what Flows have marked to their stores, in the foreground.",
            "flush": "Write all that is pending, and end when nothing is.",
            "backlog": "Show what the stores have not been told of yet, the oldest first.",
            "stores": "List the configured stores, with how much is pending for each.",
            "drops": "Show what was given up, when and why, the latest first.",
            "metrics": "Print the five metrics of sync in Prometheus' text format.",
        },
    ),
    "cluster": (
        "Run several nodes as one.",
        {
            "status": "Tell how all nodes and partitions stand.",
            "drain": "Have a node hand its partitions over, before it is stopped.",
            "snapshot": "Keep a copy of each partition with the journal servers.",
            "dev": "Start a cluster on this machine, to try one out.",
        },
    ),
    "serve": "Serve the embedded engine over HTTP, or a node of a cluster.",
    "smoke": "Check the target end to end.",
    "config": ("Look at the settings.", {"show": "Show each setting with its origin."}),
    "context": (
        "Keep named settings.",
        {
            "list": "List contexts.",
            "use": "Make a context the default.",
            "show": "Show one context.",
            "add": "Add a context, or change settings of one.",
            "remove": "Remove a context.",
        },
    ),
    "completion": "Print or install shell completion.",
    "help": "Show the help of a command, or of all.",
}

HELP = {"help_option_names": ["-h", "--help"]}


class DexCommand(TyperCommand):
    """A command with the global options, a session in its context and a time limit."""

    def __init__(self, name: str | None, **attributes: Any) -> None:
        super().__init__(name, **attributes)
        # A command's own option, such as the timeout of `flow start`, comes before a global one of its name.
        own = {flag for parameter in self.params for flag in parameter.opts}
        self.params = [*self.params, *(option for option in GLOBAL_OPTIONS if not own & set(option.opts))]

    def make_parser(self, ctx: Any) -> Any:
        """Give the parser of arguments, for which `--` and a space begin no option but text, as a comment of WCL."""
        parser: Any = super().make_parser(ctx)
        as_option = parser._process_opts  # noqa: SLF001 - nothing public tells an option from text

        def process(argument: str, state: Any) -> None:
            if argument[:2] == "--" and argument[2:3].isspace():
                state.largs.append(argument)
            else:
                as_option(argument, state)

        parser._process_opts = process  # noqa: SLF001 - as above
        return parser

    def invoke(self, ctx: Any) -> Any:
        """Run the command inside its session."""
        host: Host = ctx.obj
        early = early_timeout({**host.flags, **given(ctx)}, os.environ)
        with Interruptible(), deadline(early):
            session = ctx.obj = host.session(given(ctx))
            try:
                with deadline(session.settings["timeout"] if early is None else None):
                    return super().invoke(ctx)
            except Expired as error:
                error.wrote = session.wrote
                raise
            finally:
                session.close()

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the command's own options apart from the global ones."""
        _format_options(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Click's signature
        """Write the examples as they are (spec: X-08)."""
        _format_examples(self.epilog or "", formatter)


class LazyGroup(TyperGroup):
    """A group that knows its commands by a table and imports one when it is run."""

    def __init__(self, *, path: tuple[str, ...] = (), table: Table = COMMANDS, **attributes: Any) -> None:
        super().__init__(context_settings=HELP, **attributes)
        self.path = path
        self.table = table
        self.params = [*self.params, *GLOBAL_OPTIONS]

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - Click's signature
        """Give the names of the commands."""
        return list(self.table)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - as above
        """Give a command, importing its module; None where there is none."""
        entry = self.table.get(cmd_name)
        if entry is None:
            return None
        path = (*self.path, cmd_name)
        if isinstance(entry, str):
            return load(path)
        return LazyGroup(name=cmd_name, path=path, table=entry[1], help=entry[0], rich_markup_mode=None)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that is asked for, or say which one is near."""
        command = self.get_command(ctx, args[0])
        if command is None:
            from dex.cli.usage import unknown_command

            raise unknown_command(args[0], ctx.command_path, list(self.table))
        return args[0], command, args[1:]

    def invoke(self, ctx: Any) -> Any:
        """Run the command that is named."""
        if not ctx._protected_args:  # noqa: SLF001 - Click keeps the name there
            ctx.fail(f"a command is missing: one of {', '.join(self.table)}")
        return super().invoke(ctx)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as above
        """Write the examples of the group, where it has some."""
        examples = getattr(import_module(_module_of(self.path)), "EXAMPLES", "")
        if examples:
            _format_examples(examples, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands from the table, importing none."""
        rows = [(name, entry if isinstance(entry, str) else entry[0]) for name, entry in self.table.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
        _format_options(self, ctx, formatter)


class Root(LazyGroup):
    """The command `dex`; alone it opens the shell on a terminal and runs a batch from a pipe."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.params = [VERSION, *self.params]

    def invoke(self, ctx: Any) -> Any:
        """Run the command that is named, or what none means."""
        if ctx._protected_args:  # noqa: SLF001 - Click keeps the name there
            return super().invoke(ctx)
        command = load(("start",))
        with command.make_context("dex", [], parent=ctx) as inner:
            return command.invoke(inner)


def _format_options(command: Any, ctx: Any, formatter: Any) -> None:
    parameters = command.get_params(ctx)
    own = [parameter for parameter in parameters if parameter not in GLOBAL_OPTIONS]
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        records = [parameter.get_help_record(ctx) for parameter in own if parameter.param_type_name == kind]
        rows = [record for record in records if record is not None]
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)
    with formatter.section("Global options"):
        formatter.write_dl([option.get_help_record(ctx) for option in GLOBAL_OPTIONS if option in parameters])


def _format_examples(examples: str, formatter: Any) -> None:
    with formatter.section("Examples"):
        for line in examples.strip().splitlines():
            formatter.write(f"{'':>{formatter.current_indent}}{line}".rstrip() + "\n")


def _module_of(path: tuple[str, ...]) -> str:
    return ".".join(("dex.cli.commands", *map(_module_name, path)))


def load(path: tuple[str, ...]) -> Any:
    """Import the module of a command and give the command."""
    module = import_module(_module_of(path))
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(path[-1], cls=DexCommand, epilog=module.EXAMPLES, context_settings=HELP)(module.run)
    return typer.main.get_command(app)


def _module_name(word: str) -> str:
    name = word.replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def run(args: list[str], host: Host) -> int:
    """Run one command line and give its exit code; errors are the caller's to conclude."""
    root = Root(name="dex", help="Work with durable StateStores, Feeds and Flows.", rich_markup_mode=None)
    try:
        with root.make_context("dex", list(args), obj=host) as ctx:
            return root.invoke(ctx) or 0
    except typer.Exit as exit_:
        return exit_.exit_code
