"""`dex context add` (spec: X-01)."""

from typing import Annotated

import typer

from dex.cli.contexts import change, shown
from dex.cli.session import Ctx
from dex.cli.settings import KNOWN, check_name, check_setting
from dex.wcl.errors import InputError
from dex.wcl.names import check_text

EXAMPLES = """
dex context add staging data-dir=/srv/dex timeout=30s
dex context add staging timeout=
"""


def run(
    ctx: Ctx,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the context.")],
    settings: Annotated[list[str], typer.Argument(metavar="SETTING=VALUE...", help="What it sets.")],
) -> None:
    """Add a context, or change settings of one.

    A context that exists keeps its other settings; SETTING= takes one away. Rewrites the configuration file; comments
    in it are not kept.
    """
    if not name.strip():
        raise InputError("a context needs a name", "write `dex context add NAME SETTING=VALUE`")
    check_text(name, "name of a context")
    known: dict[str, dict[str, str]] = ctx.obj.settings.config.get("contexts", {})
    values = dict(known.get(name, {}))
    given: set[str] = set()
    for argument in settings:
        setting, equals, value = argument.partition("=")
        if not equals:
            raise InputError(f"{argument!r} is not SETTING=VALUE", f"settings: {', '.join(sorted(KNOWN))}")
        if setting in given:
            raise InputError(f"{setting!r} is given twice", "give each setting one value", setting=setting)
        given.add(setting)
        check_text(value, f"value of {setting}")
        if value:
            check_setting(setting, value)
            values[setting] = value
        else:
            check_name(setting)
            values.pop(setting, None)
    change(ctx.obj, contexts={**known, name: values})
    ctx.obj.out.result({"name": name, "status": "changed" if name in known else "created", "settings": shown(values)})
