"""`dex command`: typed commands as JSON, the door that scripts and programs use (spec: W-09)."""

from typing import Annotated, Any

import typer

from dex.cli.confirm import confirm
from dex.cli.exits import error_to_json, exit_code
from dex.cli.session import Ctx
from dex.cli.values import payload_from
from dex.wcl.errors import DexError
from dex.wcl.wire import decode_commands, to_json

EXAMPLES = """
dex command '{"command": "show_state_stores"}'
dex command '[{"command": "put_row", "store": "s", "key": "k", "payload": "v"},
              {"command": "get_row", "store": "s", "key": "k"}]'
dex command @commands.json
"""


def run(
    ctx: Ctx,
    json: Annotated[str, typer.Argument(metavar="JSON", help="A command or a list; @FILE, or - for standard input.")],
) -> int:
    """Run typed commands given as JSON.

    One command gives its result. A list gives a list of results, each command succeeding or failing alone; an
    error is {"error": ...} there and the worst of them decides the exit code.
    """
    session = ctx.obj
    commands, many = decode_commands(payload_from(json))
    confirm(session, commands)
    if not many:
        session.out.result(session.engine.execute(commands[0]))
        return 0
    results = session.engine.execute_many(commands)
    session.out.result([_item(result) for result in results])
    return max((exit_code(result) for result in results if isinstance(result, DexError)), default=0)


def _item(result: Any) -> Any:
    return {"error": error_to_json(result)} if isinstance(result, DexError) else to_json(result)
