"""The bytes of one sink on their way to one client.

    state       entered by                  what is sent                    next state
    ─────────   ─────────────────────────   ─────────────────────────────   ─────────────────────────
    new         construction                nothing; `status` may change    streaming, finished, dropped
    streaming   `begin`, the first `send`   headers, then pieces            finished, gone, dropped
    finished    `finish`                    the last piece                  gone
    answered    `answer`, from new only     a whole response                gone
    unended     `send_rest`                 the rest, and no end of it      gone
    gone        the server raised OSError   nothing; `send` raises          —
    dropped     `drop`                      nothing; `send` does nothing    —

At most one task sends at a time. If a task is cancelled while it waits for its turn, its bytes stay in the
delivery and leave with the next piece: no byte is lost, and none is sent twice.

Source: the standard protocol 1.1, sections 2 (when headers leave), 4 and 5 (the status of a failure).
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

import anyio

from streamweir.delivery.client_port import ClientPort, cannot_write
from streamweir.delivery.response_watcher import ResponseWatcher
from streamweir.errors import ErrorInfo, error_info
from streamweir.failures.whole_response import WholeResponse
from streamweir.http.fair_lock import FairLock
from streamweir.http.folded_response import folded_response
from streamweir.http.headers import Headers
from streamweir.options.heartbeats import AutoHeartbeat
from streamweir.translation.clock import StreamClock
from streamweir.translation.folded_writer import FoldedWriter
from streamweir.translation.open_writer import Writer

__all__ = ["ClientGoneError", "Delivery"]

CUT_OFF_SECONDS: Final = 1.0
"""The longest wait until the server has noticed that the connection is closed."""

PIECE_BYTES: Final = 1 << 18
"""The most bytes of one piece of the unsent bytes. A server waits only between pieces, whatever their size.
"""


class ClientGoneError(OSError):
    """The client has left, as an ASGI server reports it since ASGI 2.4."""


class Delivery:
    """Sends the bytes of `sink` to one client; the headers are sent with the first piece.

    A subclass provides the headers (`_headers`) and sets `sink` before anything is sent.

    Args:
        client: sends the response.
        clock: each send is noted in it.

    Attributes:
        clock: the clock of the client's side.
        sink: the writer whose bytes are sent. It may be replaced between two pieces.
        status: the status of the response; it may change until the headers are sent.
        bytes: the number of bytes of the body that have been sent.
        is_started: the headers have been sent, or are being sent.
        gone: the error by which the server reported that the client has left; None before.
        watcher: learns what is sent, but for the pieces that `send_at_once` sends; None: no watcher.
        on_sent_at_once: called with each piece that `send_at_once` has sent; None: no call.
    """

    __slots__ = (
        "_extra_headers",
        "_is_dropped",
        "_lock",
        "_unsent",
        "_whole_headers",
        "_write_now",
        "bytes",
        "client",
        "clock",
        "gone",
        "is_started",
        "on_sent_at_once",
        "sink",
        "status",
        "watcher",
    )

    def __init__(self, client: ClientPort, clock: StreamClock) -> None:
        self.client = client
        self._write_now: Final = client.write
        self.clock = clock
        self.sink: Writer
        self.status = 200
        self.bytes = 0
        self.is_started = False
        self.gone: OSError | None = None
        self.watcher: ResponseWatcher | None = None
        self.on_sent_at_once: Callable[[bytes], object] | None = None
        self._is_dropped = False
        self._extra_headers: Headers = []
        self._whole_headers: Headers | None = None
        """The headers of a whole response that is sent in place of the stream; None: the stream is sent."""
        self._unsent = b""
        self._lock = FairLock()

    def _headers(self) -> Headers:
        """Return the headers of the response; called once, when they are sent."""
        raise NotImplementedError

    @property
    def holds_status(self) -> bool:
        """Whether a failure before the first byte becomes a status; no default heartbeat is sent then."""
        return False

    @property
    def is_complete(self) -> bool:
        """Whether the server has taken the last piece."""
        return self.clock.is_closed and self.clock.writing_since is None

    @property
    def has_unsent(self) -> bool:
        """Whether some bytes could not be sent at once and are still unsent."""
        return bool(self._unsent)

    def send_at_once(self, now: float) -> bool:
        """Send the bytes that the sink has written, without waiting.

        Args:
            now: `time.monotonic()`.

        Returns:
            False if sending would have to wait. The bytes are then kept for `send`.
        """
        data = self.sink.take()
        if not data or self._is_dropped:
            return True
        if self._lock.is_taken or self._unsent or not self._write_now(data):
            self._unsent += data
            return False
        if self.on_sent_at_once is not None:
            self.on_sent_at_once(data)
        self.clock.last_write = now
        self.bytes += len(data)
        return True

    async def send(self) -> None:
        """Send the bytes that the sink has written, as soon as the client takes them.

        Raises:
            OSError: the client has left.
        """
        data = self.sink.take()
        if self.gone is not None:
            self._raise_gone()
        if self._is_dropped or not (data or self._unsent):
            self.clock.last_read = time.monotonic()
            return
        lock = self._lock
        if not lock.is_taken:  # not `async with`, which costs as much as translating an event
            lock.is_taken = True
        else:
            self._unsent += data
            data = b""
            await lock.wait()
        if self._unsent:
            data, self._unsent = self._unsent + data, b""
        clock = self.clock
        clock.is_busy = True
        clock.writing_since = None if clock.write is None else time.monotonic()
        try:
            if self.gone is not None:
                self._raise_gone()
            if not self.is_started:
                await self._start()
                await self._send_body(data, more=True)  # even an empty one: a server may hold the headers
            elif data:
                await self._send_body(data, more=True)
            self.bytes += len(data)
        except OSError as error:
            self._note_gone(error)
            raise
        finally:
            clock.is_busy = False
            clock.writing_since = None
            clock.last_read = clock.last_write = time.monotonic()
            if lock.waiting:
                lock.pass_on()
            else:
                lock.is_taken = False

    async def begin(self) -> None:
        """Send the headers, unless they have been sent.

        Raises:
            OSError: the client has left.
        """
        async with self._lock:
            if not self.is_started and not self._is_dropped:
                await self._write(b"", more=True)

    def finish(
        self, error: ErrorInfo | None = None, failure: ErrorInfo | None = None
    ) -> Coroutine[Any, Any, None]:
        """Send the sink's remaining bytes, and end the response. This is no coroutine function.

        Args:
            error: the error that the stream ended with; decides the status of a folded answer.
            failure: the classified form of the error, if there is one; its status is more exact.

        Raises:
            OSError: the client has left.
        """
        self._unsent += self.sink.take_last()
        if not self.is_started:
            self._settle_status(error, failure)
        return self._write_rest(more=False)

    async def answer(self, response: WholeResponse) -> None:
        """Send a whole response in place of the stream, of which nothing has been sent.

        Raises:
            OSError: the client has left.
        """
        self.sink.take()
        self.status, self._whole_headers, self._unsent = response.status, response.headers, response.body
        await self._write_rest(more=False)

    async def send_rest(self) -> None:
        """Send the sink's remaining bytes without ending the body.

        The caller then has the connection closed, so that the client sees that the body is not whole.

        Raises:
            OSError: the client has left.
        """
        self._unsent += self.sink.take_last()
        await self._write_rest(more=True)

    def _write_rest(self, *, more: bool) -> Coroutine[Any, Any, None]:
        """Write the unsent bytes; if `more` is False, end the body after them. This is no coroutine function.

        An end in one piece needs no lock if no task is sending: nothing is sent after it.
        """
        if more or self._lock.is_taken or len(self._unsent) > PIECE_BYTES:
            return self._write_rest_in_turn(more=more)
        self.clock.is_closed = True
        data, self._unsent = self._unsent, b""
        return self._write(data, more=False)

    async def _write_rest_in_turn(self, *, more: bool) -> None:
        """Write the unsent bytes in pieces, when no other task is sending."""
        lock = self._lock
        if not lock.is_taken:  # as in `send`
            lock.is_taken = True
        else:
            await lock.wait()
        try:
            self.clock.is_closed = True
            data, self._unsent = self._unsent, b""
            if len(data) > PIECE_BYTES:
                data = await self._write_pieces(data)
            if data or not more or not self.is_started:
                await self._write(data, more=more)
        finally:
            lock.pass_on()

    async def _write_pieces(self, data: bytes) -> bytes:
        """Write all pieces of `data` but the last; return the last piece."""
        last = (len(data) - 1) // PIECE_BYTES * PIECE_BYTES
        for start in range(0, last, PIECE_BYTES):
            await self._write(data[start : start + PIECE_BYTES], more=True)
        return data[last:]

    def beat_at_once(self) -> bool:
        """Send a heartbeat of the sink, unless something else is being sent, without waiting.

        Returns:
            False if sending would have to wait: nothing has then been sent, and the caller has to use `beat`.
        """
        if not self._takes_heartbeats:
            return True
        if not self.is_started or self._write_now is cannot_write:
            return False
        data = self._heartbeat()
        if data and not self._write_now(data):
            return False
        if data and self.watcher is not None:
            self.watcher.heartbeat(data)
        self.bytes += len(data)
        return True

    async def beat(self) -> None:
        """Send a heartbeat of the sink, unless something else is being sent.

        Raises:
            OSError: the client has left.
        """
        if self._takes_heartbeats and (data := self._heartbeat()):
            async with self._lock:
                await self._write(data, more=True, is_heartbeat=True)

    @property
    def _takes_heartbeats(self) -> bool:
        """Whether a heartbeat may be sent now: the body is open, and no task is sending a piece of it."""
        if self._lock.is_taken or self.clock.is_closed or self._is_dropped:
            return False
        is_chosen = not isinstance(self.clock.heartbeat, AutoHeartbeat)
        return is_chosen or self.is_started or not self.holds_status

    def _heartbeat(self) -> bytes:
        """Return the bytes of a heartbeat; empty if the client's protocol has no heartbeats."""
        is_chosen = not isinstance(self.clock.heartbeat, AutoHeartbeat)
        data = self.sink.heartbeat() if is_chosen else self.sink.default_heartbeat()
        return self.sink.with_ids(data) if data else b""

    def drop(self) -> None:
        """Stop sending: later calls of `send` do nothing."""
        self._is_dropped = True
        self._unsent = b""

    async def cut_off(self) -> None:
        """Close the connection of a client that does not read, and wait until the server has noticed the
        close.
        """
        self.client.abort()
        with anyio.move_on_after(CUT_OFF_SECONDS):
            await self.client.until_left()

    async def _write(self, data: bytes, *, more: bool, is_heartbeat: bool = False) -> None:
        if self._is_dropped:
            return
        if self.gone is not None:
            self._raise_gone()
        clock = self.clock
        clock.writing_since = time.monotonic()
        try:
            if not self.is_started:
                await self._start()
            await self._send_body(data, more=more, is_heartbeat=is_heartbeat)
        except OSError as error:
            self._note_gone(error)
            raise
        finally:
            clock.last_write = time.monotonic()
            clock.writing_since = None
        self.bytes += len(data)

    def _start(self) -> Awaitable[None]:
        """Send the headers. A piece of the body has to follow at once. This is no coroutine function."""
        self.is_started = True
        headers = self._whole_headers
        if headers is None:
            headers = self._headers()
            if self._extra_headers:
                headers = [*headers, *self._extra_headers]
        if self.watcher is not None:
            self.watcher.response_started(self.status, headers)
        return self.client.send_start(self.status, headers)

    def _send_body(self, data: bytes, *, more: bool, is_heartbeat: bool = False) -> Awaitable[None]:
        """Send a piece of the body, and tell the watcher. This is no coroutine function; see `AsgiClient`."""
        if self.watcher is not None and data:
            (self.watcher.heartbeat if is_heartbeat else self.watcher.written)(data)
        return self.client.send_body(data, more)

    def _settle_status(self, error: ErrorInfo | None, failure: ErrorInfo | None) -> None:
        """Choose the status of an answer that is sent as a whole."""
        sink = self.sink
        if isinstance(sink, FoldedWriter) or sink.is_failure:
            if error is None and sink.is_not_understood:
                error = error_info("UPSTREAM_INVALID_RESPONSE")
            self.status, self._extra_headers = folded_response(
                self._unsent,
                error,
                has_answer=isinstance(sink, FoldedWriter) and sink.has_answer,
                status=self.status,
                failure=failure,
                own_form=sink.reports_by_status,
            )

    def _note_gone(self, error: OSError) -> None:
        """Keep a copy of the error: the frames of its traceback refer to this object."""
        if self.gone is None:
            self.gone = OSError(*error.args)

    def _raise_gone(self) -> None:
        raise ClientGoneError("the client has left") from self.gone
