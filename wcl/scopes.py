"""What a command may do to its target: `read` changes nothing, `write` changes rows, records and Flows, and `admin`
changes what is defined or destroys it whole (spec: K-02).

A server asks it of tokens; a client asks it before it sends a command again.
"""

from functools import cache
from typing import Any, Literal, TypeAlias

from dex.wcl.commands import Command
from dex.wcl.commands.flows import InvokeRpc

Scope: TypeAlias = Literal["read", "write", "admin"]

SCOPES: tuple[Scope, ...] = ("read", "write", "admin")
"""From the least to the most that is allowed; each includes those before it."""


def scope_of(command: Command[Any]) -> Scope:
    """Give the scope that a command needs; an RPC that is called as one that only reads is no write, without locks."""
    if isinstance(command, InvokeRpc) and command.read_only and not command.lock:
        return "read"
    return _scopes()[str(command.__struct_config__.tag)]


@cache
def _scopes() -> dict[str, Scope]:
    return {tag: scope for scope, tags in _TAGS.items() for tag in tags.split()}


# Written out, so that a new command is no read by default: a test compares them with all there are.
_TAGS: dict[Scope, str] = {
    "read": """
        show_state_stores describe_state_store show_feeds describe_feed get_row get_by page_rows page_records
        show_freshness get_attributes list_messages wait_for_flow wait_for_step wait_for_attribute describe_flow
        get_flow_state page_history search_flows show_flow_types sync_backlog sync_drops show_sync_totals
        show_overview show_node show_cluster
    """,
    "write": """
        put_row delete_row append_records start_flow invoke_rpc set_attributes publish_messages delete_messages
        stop_flow time_travel skip_timer update_flow_config
    """,
    "admin": """
        define_state_store drop_state_store clear_state_store rebuild_state_store define_feed drop_feed purge_flow
        drain_node snapshot_cluster
    """,
}
