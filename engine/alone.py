"""Commands on a cluster, where there is none (spec: K-09)."""

from typing import Any, NoReturn, get_args

from dex.wcl.commands.cluster import AnyClusterCommand
from dex.wcl.errors import Refused


def _refuse(_snapshot: object, _command: object, _now_ms: int) -> NoReturn:
    raise Refused(
        "this is no node of a cluster",
        "name one with --endpoint; `dex cluster dev` starts a cluster to try, `dex serve --cluster` a node",
    )


HANDLERS: dict[type[Any], Any] = dict.fromkeys(get_args(AnyClusterCommand), _refuse)
