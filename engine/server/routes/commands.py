"""The two doors that take any command: WCL and typed JSON (spec: W-09, K-01)."""

from typing import Any

import msgspec

from dex.engine.client import StatementResult
from dex.engine.server.call import Call
from dex.engine.server.route import Request, Route, scope_of_all
from dex.wcl.commands import ShowStateStores
from dex.wcl.errors import DexError
from dex.wcl.wire import any_command, decode_commands, to_json
from dex.wcl.wireerrors import error_to_wire

# What is longer takes longer to read than to hand to a thread.
_SHORT_BYTES = 64 * 1024


class WclText(msgspec.Struct, forbid_unknown_fields=True):
    """Statements of WCL, with semicolons between them."""

    text: str


async def _wcl(call: Call, request: Request) -> list[StatementResult]:
    from dex.wcl.parser import parse

    text = call.json(WclText, _TEXT).text
    commands = [statement.command for statement in await request.dispatcher.compute(lambda: parse(text))]
    request.may(scope_of_all(list(commands)))
    results = []
    for command in commands:
        result = await request.dispatcher.execute(command)
        tag = str(command.__struct_config__.tag)
        results.append(StatementResult(tag, getattr(result, "status", "ok"), result))
    return results


async def _commands(call: Call, request: Request) -> Any:
    if len(call.body) <= _SHORT_BYTES:
        commands, many = decode_commands(call.body)
    else:
        commands, many = await request.dispatcher.compute(lambda: decode_commands(call.body))
    request.may(scope_of_all(commands))
    if not many:
        return await request.dispatcher.execute(commands[0])
    return [_item(result) for result in await request.dispatcher.execute_many(commands)]


def _item(result: Any) -> Any:
    return {"error": error_to_wire(result)} if isinstance(result, DexError) else to_json(result)


_TEXT = WclText("SHOW STATESTORES")

ROUTES = (
    Route(
        method="POST",
        path="/v1/wcl",
        summary="Run statements of WCL in order",
        tag="commands",
        answer=_wcl,
        result=list[StatementResult],
        scope=None,
        body=WclText,
        body_example=_TEXT,
        result_example=[StatementResult("show_state_stores", "ok", [])],
        errors=(404, 409, 412),
    ),
    Route(
        method="POST",
        path="/v1/commands",
        summary="Run one typed command, or a list of them, each succeeding or failing alone",
        tag="commands",
        answer=_commands,
        result=Any,
        scope=None,
        body=any_command() | list[any_command()],  # type: ignore[misc]
        body_example=[ShowStateStores()],
        result_example=[[]],
        errors=(404, 409, 412),
    ),
)
