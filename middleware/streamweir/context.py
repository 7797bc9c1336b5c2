"""The context of the current request: its id, and the warnings for its stream.

Both are in context variables, and so reach all code that a request calls: views, dependencies, generators,
tasks, `asyncio.to_thread`, a framework's thread pool. A bare thread needs `bind_context`.

The warnings of one request are in one `WarningCollector`, whichever layer makes the stream. A shell calls it
in this order (`ApplicationStream` drains a collector that it is given):

    collector = WarningCollector(request_id, debug=False)
    with collector.bound():                 # id and collector are in the context of everything below
        ...                                 # `add` returns True from here on: the response is not known yet
        collector.open()                    # a stream takes the warnings
        collector.drain()                   # before each event: those that wait, in order
        collector.finish()                  # before the terminal event: the last ones; `add` returns False
        collector.close()                   # always, in the end: warnings that no stream took are logged

A layer below that makes the stream itself (`EventStream`) finds the collector of the layer above with
`current_collector()` and calls `attach()`, which succeeds once. From then on that layer drains the collector;
the layer above sees `attached`, and only calls `close()`.

If no stream is made but the id is known (a WebSocket, a request that is not covered), `bound_request_id` puts
only the id into the context.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, Final, ParamSpec, TypeVar

from streamweir.events import Warning
from streamweir.redaction import DETAIL_LIMIT, redact, redact_value

__all__ = [
    "RequestIDLogFilter",
    "WarningCollector",
    "begin_request_id",
    "bind_context",
    "bound_request_id",
    "collect_stream_warning",
    "current_collector",
    "current_request_id",
    "end_request_id",
    "host_warning",
]

logger = logging.getLogger("streamweir")

P = ParamSpec("P")
R = TypeVar("R")

MAX_COLLECTED: Final = 100
"""The most collected warnings that are sent in one stream; one warning at the end counts the others."""

_NO_MESSAGE: Final = "Something went wrong that did not stop the answer."
_LONGEST_CODE: Final = 64

_request_id: ContextVar[str | None] = ContextVar("streamweir_request_id", default=None)
_collector: ContextVar[WarningCollector | None] = ContextVar("streamweir_collector", default=None)

begin_request_id: Final = _request_id.set
"""Puts a request id into the context; returns the token for `end_request_id`. See `bound_request_id`."""

end_request_id: Final = _request_id.reset
"""Takes a request id out of the context again."""


class WarningCollector:
    """The warnings of one request, collected from any task or thread; each is returned once.

    Args:
        request_id: the id of the request.
        debug: keep the details of the warnings.

    Attributes:
        attached: a stream drains the collector. Set by `attach`, never cleared.
        waiting: warnings collected since the last `drain`; read before each event of a stream.
    """

    def __init__(self, request_id: str, *, debug: bool = False) -> None:
        self.request_id = request_id
        self.debug = debug
        self.attached = False
        self.waiting: deque[Warning] = deque()
        self._taken = 0
        self._left_out = 0
        self._closed = False
        self._opened = False
        self._lock = threading.Lock()

    @contextmanager
    def bound(self) -> Iterator[None]:
        """Put the collector and its request id into the context of the code inside."""
        token = _collector.set(self)
        try:
            with bound_request_id(self.request_id):
                yield
        finally:
            _collector.reset(token)

    def add(self, warning: Warning) -> bool:
        """Keep `warning` for the stream; return False if no stream can take it any more."""
        with self._lock:
            if self._closed:
                return False
            self._taken += 1
            if self._taken <= MAX_COLLECTED:
                self.waiting.append(warning)
            else:
                self._left_out += 1
            return True

    @property
    def takes_more(self) -> bool:
        """Whether a stream can take a warning, or the response is not known yet: `add` would return True."""
        return not self._closed

    def attach(self) -> bool:
        """Take the draining; return False if a stream has done so, or the collector is open or closed."""
        with self._lock:
            if self.attached or self._opened or self._closed:
                return False
            self.attached = True
            return True

    @property
    def opened(self) -> bool:
        """Whether a stream takes the warnings."""
        return self._opened

    def open(self) -> None:
        """Note that there is a stream, which takes the collected warnings."""
        self._opened = True

    def drain(self) -> list[Warning]:
        """Return the warnings collected since the last call, in order."""
        if not self.waiting:
            return []
        with self._lock:
            waiting = list(self.waiting)
            self.waiting.clear()
            return waiting

    def finish(self) -> list[Warning]:
        """Return the last warnings, with the number of omitted ones; none are taken from now on."""
        with self._lock:
            self._closed = True
            last = list(self.waiting)
            self.waiting.clear()
            if self._left_out:
                last.append(Warning(message=f"{self._left_out} more warnings were left out.", for_users=True))
                self._left_out = 0
            return last

    def close(self) -> None:
        """End the request: log the warnings that no stream has taken. A second call is ignored."""
        for warning in self.finish():
            logger.warning(
                "no stream for this warning: %s (%s)",
                warning.message,
                warning.message_code or "no code",
                extra={"request_id": self.request_id},
            )


class RequestIDLogFilter(logging.Filter):
    """Sets `request_id` on each log record to the id of the current request, for the format of a handler.

    A record that already has an id (`extra={"request_id": ...}`) keeps that id.

    Args:
        default: the id for records that are logged outside of a request.
    """

    def __init__(self, default: str = "-") -> None:
        super().__init__()
        self._default = default

    def filter(self, record: logging.LogRecord) -> bool:
        """Set `request_id` on `record`; return True for every record."""
        if getattr(record, "request_id", None) is None:
            record.request_id = current_request_id() or self._default
        return True


def current_request_id() -> str | None:
    """Return the id of the current request; None outside of a request."""
    return _request_id.get()


def current_collector() -> WarningCollector | None:
    """Return the collector of the current request; None if the response is no stream of this library."""
    return _collector.get()


class bound_request_id:  # noqa: N801 (a generator would take more memory for each request)
    """A context manager that puts `request_id` into the context of the code inside."""

    __slots__ = ("_request_id", "_token")

    def __init__(self, request_id: str) -> None:
        self._request_id = request_id

    def __enter__(self) -> None:
        self._token = _request_id.set(self._request_id)

    def __exit__(self, *error: object) -> None:
        _request_id.reset(self._token)


def collect_stream_warning(message: str, *, message_code: str | None = None, detail: Any = None) -> bool:
    """Add a warning to the stream of the current request, from any code that the request calls.

    The warning is redacted and sent before the next event, its `detail` only with `debug`. Beyond 100
    warnings in a stream only their number is sent. A bare thread or executor needs `bind_context`.

    Returns:
        False if no stream can take the warning: there is no middleware, or the stream is over. True while the
        response is not known; if the response is not a stream, the warning is logged.
    """
    collector = _collector.get()
    return collector is not None and collector.add(
        host_warning(message, message_code, detail, debug=collector.debug)
    )


def host_warning(message: str, message_code: str | None, detail: Any, *, debug: bool) -> Warning:
    """Return a warning of the host application, ready to be sent."""
    return Warning(
        message=redact(str(message)) or _NO_MESSAGE,
        message_code=redact(str(message_code), limit=_LONGEST_CODE) or None if message_code else None,
        detail=redact_value(detail, limit=DETAIL_LIMIT) if debug and detail is not None else None,
        for_users=True,
    )


def bind_context(fn: Callable[P, R]) -> Callable[P, R]:
    """Return `fn` bound to the current context, for a bare `threading.Thread` or an executor.

    The result may be called many times, also concurrently: each call runs in a copy of the context.
    """
    context = copy_context()

    @functools.wraps(fn)
    def bound(*args: P.args, **kwargs: P.kwargs) -> R:
        return context.copy().run(fn, *args, **kwargs)

    return bound
