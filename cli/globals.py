"""The options that every command takes, before and after its name."""

from typing import Any

import typer
from typer.core import TyperOption

FLAGS = "dex.flags"


def given(ctx: Any) -> dict[str, Any]:
    """Give the global options that were given so far, by name; the one nearest to the command's end wins."""
    flags: dict[str, Any] = ctx.meta.setdefault(FLAGS, {})
    return flags


def _keep(ctx: Any, parameter: Any, value: Any) -> None:
    if value is None or value is False or value in (0, ()):
        return
    flags = given(ctx)
    name = parameter.opts[-1].removeprefix("--")
    if name == "verbose":
        flags[name] = flags.get(name, 0) + value
    elif parameter.multiple:
        flags[name] = ",".join([*flags.get(name, "").split(","), *value]).removeprefix(",")
    else:
        flags[name] = value


def _option(*names: str, help: str, **more: Any) -> TyperOption:  # noqa: A002 - Typer's own name for it
    # Click keeps values by name, so that without one of its own `--token` would take an argument TOKEN's value.
    own_name = f"global{names[-1].replace('-', '_')}"
    return TyperOption(param_decls=[own_name, *names], expose_value=False, callback=_keep, help=help, **more)


def _flag(*names: str, help: str) -> TyperOption:  # noqa: A002 - as above
    return _option(*names, help=help, is_flag=True, default=False)


GLOBAL_OPTIONS = [
    _option("--data-dir", type=str, metavar="DIR", help="Directory of the embedded engine [DEX_DATA_DIR]."),
    _option(
        "--endpoint",
        type=str,
        metavar="URL,…",
        help="A server instead of the embedded engine, or a cluster's nodes [DEX_ENDPOINT].",
    ),
    _option("--token", type=str, metavar="TOKEN", help="What the server knows you by [DEX_TOKEN]."),
    _option("--context", type=str, metavar="CONTEXT", help="Named settings to use [DEX_CONTEXT]."),
    _option("--config", type=str, metavar="FILE", help="Configuration file [DEX_CONFIG]."),
    _option(
        "-o",
        "--output",
        type=str,
        metavar="FORMAT",
        help="table, json, ndjson, yaml or csv; table on a terminal, else json [DEX_OUTPUT].",
    ),
    _option(
        "--flows",
        type=str,
        multiple=True,
        metavar="FILE_OR_MODULE",
        help="Your Flow definitions; repeatable [DEX_FLOWS].",
    ),
    _option("--sync-config", type=str, metavar="FILE", help="Configuration of Attribute Store sync [DEX_SYNC_CONFIG]."),
    _option("--timeout", type=str, metavar="DURATION", help="Give up after 250ms, 30s, 5m, 1h [DEX_TIMEOUT]."),
    _option("--color", type=str, metavar="MODE", help="auto, always or never [NO_COLOR, FORCE_COLOR]."),
    _flag("-q", "--quiet", help="No notes and no progress."),
    _option("-v", "--verbose", type=int, count=True, default=0, help="Say more; -vv shows tracebacks."),
    _flag("-y", "--yes", help="Agree to what destroys data."),
]


def _show_version(ctx: Any, _parameter: Any, value: Any) -> None:
    if value and not ctx.resilient_parsing:
        from dex import __version__

        print(f"dex {__version__}")  # noqa: T201 - the result that was asked for
        raise typer.Exit


VERSION = TyperOption(
    param_decls=["--version"],
    is_flag=True,
    default=False,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Print the version.",
)
