"""What a failed transaction means, judged by SQLSTATE and driver class, never by message text (spec: Y-18, Y-27)."""

import psycopg
from psycopg import errors

from dex.engine.sync.batch import Failure, FailureScope

# Longest prefix first. What is not listed backs off the run alone: most errors are about values and conflicts.
_SCOPES = {
    "08": FailureScope.STORE,  # connection exceptions
    "28": FailureScope.STORE,  # the role or password is refused
    "3D": FailureScope.STORE,  # no such database
    "3F": FailureScope.STORE,  # no such schema
    "42501": FailureScope.STORE,  # a grant is missing
    "42P01": FailureScope.STORE,  # a table is missing
    "42P10": FailureScope.STORE,  # the primary key is gone
    "25006": FailureScope.STORE,  # the server only reads
    "25P03": FailureScope.TIMEOUT,  # idle in a transaction for too long
    "25P04": FailureScope.TIMEOUT,  # a transaction took longer than the server allows
    "53": FailureScope.STORE,  # disk, memory or connections are used up
    "57014": FailureScope.TIMEOUT,  # statement_timeout
    "57P": FailureScope.STORE,  # shutdown, start-up, crash
    "58": FailureScope.STORE,  # errors of the server's system
    "F0": FailureScope.STORE,  # errors of the server's configuration
}

# Only what no change in the database could cure: characters that it cannot store, statements that say nothing.
_NON_RETRYABLE = frozenset({"22021", "22P05", "42601", "42P02", "42P18"})

# What a person needs to know beside the condition's name.
_MEANINGS = {"57014": "it took too long, as while another session locks the row"}

_OUTDATED_SCHEMA = frozenset({"0A000", "42703", "42804", "42P01", "42P10", "428C9"})
"""Errors of a schema that has changed since it was read: it is read again, and the write tried once more."""


def judge(error: psycopg.Error, *, connected: bool) -> Failure:
    """Give what a driver's error means; `connected` tells whether the connection outlived it.

    The reason names the condition and the database's objects, since PostgreSQL's own message may repeat values.
    """
    error = _root(error)
    state = error.sqlstate
    # Without an answer of the server's the driver has no diagnosis, even where it knows a SQLSTATE for what it met.
    undecided = not connected and error.diag.sqlstate is None
    if state is None:
        return _without_sqlstate(error, connected=connected)
    scope = next((_SCOPES[state[:end]] for end in (5, 3, 2) if state[:end] in _SCOPES), FailureScope.RUN)
    if not connected and scope is FailureScope.RUN:
        scope = FailureScope.STORE
    reason = "PostgreSQL did not answer in time" if undecided else _reason(error, state)
    return Failure(scope, state not in _NON_RETRYABLE, reason, state, undecided)


def outdated_schema(error: psycopg.Error) -> bool:
    """Tell whether reading the tables again may cure an error (spec: Y-27)."""
    return _root(error).sqlstate in _OUTDATED_SCHEMA


def ends_session(error: psycopg.Error) -> bool:
    """Tell whether the server said that it ends the session, even where the connection does not know it yet."""
    return _root(error).diag.severity_nonlocalized in ("FATAL", "PANIC")


def _root(error: psycopg.Error) -> psycopg.Error:
    """Give the server's answer where leaving a pipeline has hidden it behind an error of the driver's own."""
    while error.sqlstate is None and isinstance(error.__context__, psycopg.Error):
        error = error.__context__
    return error


def _without_sqlstate(error: psycopg.Error, *, connected: bool) -> Failure:
    name = type(error).__name__
    if not connected:
        reason = f"the connection was lost ({name})"
        return Failure(FailureScope.STORE, retryable=True, reason=reason, undecided=True)
    # The driver itself could not make the statement or its parameters.
    malformed = isinstance(error, psycopg.DataError | psycopg.ProgrammingError | psycopg.NotSupportedError)
    return Failure(FailureScope.RUN, not malformed, f"the driver failed ({name})")


def _reason(error: psycopg.Error, state: str) -> str:
    diag = error.diag
    objects = {
        "table": diag.table_name,
        "column": diag.column_name,
        "constraint": diag.constraint_name,
        "type": diag.datatype_name,
    }
    named = "".join(f", {what} {name}" for what, name in objects.items() if name)
    meaning = _MEANINGS.get(state) or _lacking_grant(error)
    return f"PostgreSQL answers {_condition(state)} ({state}){named}" + (f": {meaning}" if meaning else "")


def _lacking_grant(error: psycopg.Error) -> str | None:
    """Give the message about a grant, which names an object and no value, unlike one that a trigger has raised."""
    return error.diag.message_primary if error.diag.source_function == "aclcheck_error" else None


def _condition(state: str) -> str:
    try:
        return errors.lookup(state).__name__
    except KeyError:
        return "an error"
