"""What a server says of itself: JSON, one line each, on standard error (spec: K-01).

Nothing that a client sends is in it: neither path nor query, body or token.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

_LOGGERS = ("dex", "uvicorn.error", "asyncio")
# Of libraries only what went wrong: that a server starts and stops is told elsewhere.
_LEAST_OF_LIBRARIES = logging.WARNING


class JsonFormatter(logging.Formatter):
    """A record as one JSON object: time, level and message, what `fields` has, and a traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """Give the line of a record."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        line.update(getattr(record, "fields", ()))
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


class _Handler(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Say nothing: where standard error cannot be written nobody can be told."""


@contextmanager
def logging_to_stderr(level: int) -> Iterator[logging.Logger]:
    """Write what is logged of at least `level` to standard error meanwhile; give the server's own logger."""
    handler = _Handler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    before = []
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        before.append((logger, logger.level, logger.propagate))
        logger.addHandler(handler)
        logger.propagate = False
        logger.setLevel(level if name == "dex" else max(level, _LEAST_OF_LIBRARIES))
    try:
        yield logging.getLogger("dex.server")
    finally:
        for logger, old, propagated in before:
            logger.removeHandler(handler)
            logger.propagate = propagated
            logger.setLevel(old)
