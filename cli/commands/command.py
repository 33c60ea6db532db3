"""`dex command`: typed commands as JSON, the door that scripts and programs use (spec: W-09)."""

from typing import Annotated, Any

import typer

from dex.cli.confirm import confirm
from dex.cli.exits import exit_code
from dex.cli.output import prints_aside
from dex.cli.session import Ctx
from dex.cli.values import payload_from
from dex.wcl.errors import DexError, InputError
from dex.wcl.schema import command_schema
from dex.wcl.wire import decode_commands, to_json
from dex.wcl.wireerrors import error_to_json

EXAMPLES = """
dex command '{"command": "define_state_store", "name": "s", "named_keys": [{"name": "k", "unique": true}]}'
dex command '{"command": "show_state_stores"}'
dex command '[{"command": "put_row", "store": "s", "key": "a", "payload": "v", "named": {"k": 3}},
              {"command": "put_row", "store": "s", "key": {"bytes": "/w=="}, "mutation_id": "7f3c"},
              {"command": "get_row", "store": "s", "key": "a", "strict": true},
              {"command": "get_by", "store": "s", "named_key": "k", "value": 3}]'
dex command '{"command": "append_records", "feed": "f", "records": [{"key": "a", "metadata": {"pp": "P1"}}]}'
dex command '{"command": "start_flow", "type": "OrderFlow", "flow_id": "order-1", "input": {"total": 3}}'
dex command '{"command": "invoke_rpc", "flow_id": "order-1", "rpc": "Status"}'
dex command @commands.json
dex command --schema
dex command --schema put_row
"""


def run(
    ctx: Ctx,
    json: Annotated[
        str | None,
        typer.Argument(
            metavar="JSON", help="A command or a list; @FILE, or - for standard input. A name with --schema."
        ),
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of all typed commands, or of the one named.")
    ] = False,
) -> int:
    """Run typed commands given as JSON.

    One command gives its result. A list gives a list of results, each command succeeding or failing alone; an
    error is {"error": ...} there and the worst of them decides the exit code. Keys and payloads are text or
    {"bytes": "<base64>"}; --schema tells every field of every command.
    """
    if schema:
        ctx.obj.out.result(command_schema(json))
        return 0
    if json is None:
        raise InputError("there is nothing to run", "give a command as JSON, @FILE, or - for standard input")
    session = ctx.obj
    commands, many = decode_commands(payload_from(json))
    confirm(session, commands)
    with prints_aside():
        results = session.engine.execute_many(commands) if many else [session.engine.execute(commands[0])]
    if not many:
        session.out.result(results[0])
        return 0
    session.out.result([_item(result) for result in results])
    return max((exit_code(result) for result in results if isinstance(result, DexError)), default=0)


def _item(result: Any) -> Any:
    return {"error": error_to_json(result)} if isinstance(result, DexError) else to_json(result)
