"""`dex context add` (spec: X-01)."""

from typing import Annotated

import typer

from dex.cli.contexts import change
from dex.cli.session import Ctx
from dex.cli.settings import KNOWN, check_setting
from dex.wcl.errors import InputError

EXAMPLES = """
dex context add staging data-dir=/srv/dex timeout=30s
"""


def run(
    ctx: Ctx,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the context.")],
    settings: Annotated[list[str], typer.Argument(metavar="SETTING=VALUE...", help="What it sets.")],
) -> None:
    """Add a context or replace one.

    Rewrites the configuration file; comments in it are not kept.
    """
    values: dict[str, str] = {}
    for argument in settings:
        setting, equals, value = argument.partition("=")
        if not equals:
            raise InputError(f"{argument!r} is not SETTING=VALUE", f"settings: {', '.join(sorted(KNOWN))}")
        check_setting(setting, value)
        values[setting] = value
    contexts = {**ctx.obj.settings.config.get("contexts", {}), name: values}
    change(ctx.obj, contexts=contexts)
    ctx.obj.out.result({"name": name, "settings": values})
