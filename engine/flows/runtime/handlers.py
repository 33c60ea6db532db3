"""Calling the handlers that people write: sync or async, bounded in time, their faults told as ours."""

import inspect
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

from dex.wcl.errors import DexError, RequestTimeoutError, WorkerInvocationError
from dex.wcl.shown import shown_error


class Cancellation:
    """Tells a handler that its result is no longer wanted; nobody waits for it, so that it costs less than an Event."""

    __slots__ = ("_is_set",)

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        """Tell it."""
        self._is_set = True

    def is_set(self) -> bool:
        """Whether it was told."""
        return self._is_set


class Call:
    """One call of a handler. `cancelled` is set once its result is no longer wanted."""

    def __init__(self, what: str, timeout: timedelta | None) -> None:
        self._what = what
        self._timeout = timeout
        self.cancelled = Cancellation()

    def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the handler and give what it returns.

        A handler with a timeout runs in a thread of its own. One that overruns is told by
        `context.is_cancellation_requested`, and whatever it still does is dropped.

        Raises:
            WorkerInvocationError: it raised; a DexError that it raised is passed on as it is.
            RequestTimeoutError: it overran its timeout.
        """
        try:
            if self._timeout is None:
                return _complete(function(*arguments))
            return self._bounded(self._timeout, function, *arguments)
        except BaseException as error:
            if isinstance(error, DexError) and "facts" in vars(error):  # a subclass may leave it unmade
                raise
            # Whatever a handler raises is its failure, but Ctrl-C in the main thread is the person's.
            if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                raise
            raise WorkerInvocationError(
                f"{self._what} raised {shown_error(error)}",
                "look at the handler; nothing of this call was kept",
                handler=self._what,
                error_type=type(error).__name__,
                at=_place(error),
            ) from error

    def _bounded(self, timeout: timedelta, function: Callable[..., Any], *arguments: Any) -> Any:
        outcome: list[Any] = []
        failure: list[BaseException] = []

        def work() -> None:
            try:
                outcome.append(_complete(function(*arguments)))
            except BaseException as error:  # noqa: BLE001  # raised where the caller waits
                failure.append(error)

        thread = threading.Thread(target=work, name="dex-handler", daemon=True)
        thread.start()
        try:
            thread.join(timeout.total_seconds())
        except BaseException:
            self.cancelled.set()
            raise
        if thread.is_alive():
            self.cancelled.set()
            raise RequestTimeoutError(
                f"{self._what} ran for more than {timeout.total_seconds():g} s",
                "raise its timeout, or make it faster; nothing of this call was kept",
                handler=self._what,
            )
        if failure:
            raise failure[0]
        return outcome[0]


def _complete(result: Any) -> Any:
    """Give what a handler returned, once an async one has run to its end."""
    if not inspect.isawaitable(result):
        return result
    import asyncio

    if asyncio._get_running_loop() is None:  # noqa: SLF001  # the public form raises where there is none
        return asyncio.run(_await(result))
    with ThreadPoolExecutor(1) as aside:  # the caller's thread has an event loop already, such as a notebook's
        return aside.submit(asyncio.run, _await(result)).result()


async def _await(result: Any) -> Any:
    return await result


def _place(error: BaseException) -> str | None:
    """Give `file:line` where a handler's error was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return None if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
