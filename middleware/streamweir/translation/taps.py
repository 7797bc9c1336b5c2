"""The taps of one stream. A tap that raises or is slow affects neither the stream nor its client.

A tap is in one of three states:

    inline   It is called at once, by the code that pushes the event. Left when its calls have taken more than
             `_GRACE_SECONDS` and `_SHARE` of the stream's time (behind), or when one raises (off).
    behind   A thread calls it, in order; calls wait for the thread. Left when a call raises, or when
             `_MOST_WAITING` calls wait (off).
    off      It is not called any more.

A line of the log says why a tap is off. `finish` is the last call in every state, and ends the thread.

Source: the library contract, section 1 (taps).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from streamweir.errors import ConfigurationError
from streamweir.events import Content, Event, Stamp, Thinking, Warning
from streamweir.framing import LINE_FRAMINGS, Frame
from streamweir.translation.items import StreamItem
from streamweir.translation.sink import EventTap, FrameSink, ListeningSink

if TYPE_CHECKING:
    from queue import SimpleQueue

    from streamweir.translation.pipeline import Pipeline
    from streamweir.translation.reader import StreamReader

__all__ = ["TapMaker", "TapSink", "Taps", "attach", "checked_makers", "taps_for"]

logger = logging.getLogger("streamweir")

TapMaker: TypeAlias = Callable[[Any], EventTap | None]
"""Takes the ASGI scope of a request when its stream begins; returns a tap, or None for no tap."""

_GRACE_SECONDS: Final = 0.02
"""Seconds that all calls of one tap may take in total, in any stream."""
_SHARE: Final = 0.1
"""Beyond the grace, the calls may take this share of the time since the stream began."""
_MOST_WAITING: Final = 1000

_Call: TypeAlias = Callable[[EventTap], None]


class _GuardedTap:
    """One tap of one stream; the module's docstring lists its states."""

    def __init__(self, tap: EventTap) -> None:
        self.tap = tap
        self.wants_frames = type(tap).frame is not EventTap.frame
        self._spent = -_GRACE_SECONDS
        self._began = perf_counter()
        self._waiting: SimpleQueue[_Call | None] | None = None
        self._is_off = False

    def call(self, call: _Call) -> None:
        """Call the tap, inline or in its thread. Never raises, and delays the stream at most once."""
        if self._is_off:
            return
        if self._waiting is not None:
            self._queue(call)
            return
        before = perf_counter()
        self._run(call)
        now = perf_counter()
        self._spent += now - before
        if self._spent > _SHARE * (now - self._began):
            self._fall_behind()

    def finish(self) -> None:
        """Call `finish`, which is the last call."""
        self.call(_finish)
        if self._waiting is not None:
            self._waiting.put(None)
        self._is_off = self._waiting is None

    def _run(self, call: _Call) -> None:
        try:
            call(self.tap)
        except Exception:
            self._is_off = True
            logger.exception("a tap raised and is taken off: %s", type(self.tap).__qualname__)

    def _fall_behind(self) -> None:
        from queue import SimpleQueue  # noqa: PLC0415 - only for slow taps

        self._waiting = waiting = SimpleQueue[_Call | None]()
        name = f"streamweir tap {type(self.tap).__qualname__}"
        threading.Thread(target=self._work, args=(waiting,), name=name, daemon=True).start()

    def _queue(self, call: _Call) -> None:
        assert self._waiting is not None
        if self._waiting.qsize() < _MOST_WAITING:
            self._waiting.put(call)
            return
        self._is_off = True
        self._waiting.put(None)
        logger.warning("a tap is too slow and is taken off: %s", type(self.tap).__qualname__)

    def _work(self, waiting: SimpleQueue[_Call | None]) -> None:
        while (call := waiting.get()) is not None and not self._is_off:
            self._run(call)


class Taps:
    """The taps of one stream, kept across all attempts at it."""

    def __init__(self, taps: Iterable[EventTap] = ()) -> None:
        self._taps = [*map(_GuardedTap, taps)]
        self._is_finished = False

    def __bool__(self) -> bool:
        return bool(self._taps)

    @property
    def want_frames(self) -> bool:
        """Whether a tap of these takes frames."""
        return any(tap.wants_frames for tap in self._taps)

    def add(self, tap: EventTap) -> None:
        """Pass every event to `tap`, from the next one on."""
        self._taps.append(_GuardedTap(tap))

    def call(self, call: _Call) -> None:
        """Call each tap. Never raises."""
        for tap in self._taps:
            tap.call(call)

    def frame(self, raw: bytes, items: Sequence[StreamItem]) -> None:
        """Show a frame to the taps that take frames. Never raises."""
        for tap in self._taps:
            if tap.wants_frames:
                tap.call(lambda tap: tap.frame(raw, items))

    def finish(self) -> None:
        """Finish all taps; only the first call does anything. Never raises."""
        if self._is_finished:
            return
        self._is_finished = True
        for tap in self._taps:
            tap.finish()


class TapSink(ListeningSink):
    """The sink by which taps get the events of one attempt.

    Args:
        taps: the taps of the stream.
        is_held: keep the calls until `release`, because the attempt may be given up; else call at once.
        ends_taps: the end of the attempt also ends the stream; False: the caller finishes the taps.
    """

    def __init__(self, taps: Taps, *, is_held: bool = False, ends_taps: bool = True) -> None:
        self._taps = taps
        self._ends_taps = ends_taps
        self._held: list[Callable[[], None]] | None = [] if is_held else None

    def release(self) -> None:
        """Call the taps for all that was held, and at once from here on."""
        held, self._held = self._held, None
        for call in held or ():
            call()

    def write(self, event: Event, stamp: Stamp) -> None:
        """Give the taps the next event."""
        self._do(lambda: self._taps.call(lambda tap: tap.write(event, stamp)))

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Give the taps the next pieces of text."""
        pieces = (*texts,)
        self._do(lambda: self._taps.call(lambda tap: tap.write_run(event, pieces, stamp)))

    def finish(self) -> None:
        """Finish the taps if the stream ends with this attempt."""
        if self._ends_taps:
            self._do(self._taps.finish)

    def heartbeat(self) -> bytes:
        """Return nothing: a tap sends nothing."""
        return b""

    def _do(self, call: Callable[[], None]) -> None:
        if self._held is None:
            call()
        else:
            self._held.append(call)


class FrameTapSink(TapSink, FrameSink):
    """The sink for taps of which some take frames: each frame is given before its events."""

    _has_begun = False
    """`begin_frame` has given the taps the frame that the next call of `frame` names."""

    def begin_frame(self, frame: Frame, items: Sequence[StreamItem], announced: Sequence[Warning]) -> bool:
        """Give the taps a frame of the upstream."""
        del announced
        self._has_begun = True
        self._give(frame.raw or b"", items)
        return False

    def frame(self, raw: bytes, items: Sequence[StreamItem]) -> None:
        """Give the taps a frame for which `begin_frame` was not called: a read that consists of texts."""
        if not self._has_begun:
            self._give(raw, items)
        self._has_begun = False

    def _give(self, raw: bytes, items: Sequence[StreamItem]) -> None:
        if raw:
            given = (*items,)
            self._do(lambda: self._taps.frame(raw, given))


def attach(
    taps: Taps, reader: StreamReader, pipeline: Pipeline, *, is_held: bool = False, ends_taps: bool = True
) -> TapSink:
    """Let taps follow a stream, and return their sink.

    The taps get frames only if no byte of the stream has been read yet, because frames are kept from the
    first one on.

    Args:
        taps: the taps of the stream.
        reader: the reader of the stream, or of an attempt at it.
        pipeline: the pipeline of the stream, or of an attempt at it.
        is_held: see `TapSink`.
        ends_taps: see `TapSink`.
    """
    kind = TapSink
    if taps.want_frames:
        kind = FrameTapSink
        if not pipeline.started:
            reader.keep_frames(LINE_FRAMINGS)
    sink = kind(taps, is_held=is_held, ends_taps=ends_taps)
    pipeline.add_sink(sink)
    return sink


def checked_makers(makers: object) -> tuple[TapMaker, ...]:
    """Return `makers` as a tuple.

    Raises:
        ConfigurationError: `makers` is not a list of callables.
    """
    found: tuple[TapMaker, ...] | None = None
    if isinstance(makers, Iterable):
        found = (*makers,)
    if found is None or not all(map(callable, found)):
        raise ConfigurationError("taps must be a list of callables that take a scope")
    return found


def taps_for(makers: Iterable[TapMaker], scope: object) -> Taps:
    """Return the taps of a stream that begins. Never raises: the exception of a maker is logged.

    Args:
        makers: the makers of the middleware or the gateway.
        scope: the ASGI scope of the request.
    """
    return Taps(tap for maker in makers if (tap := _made(maker, scope)) is not None)


def _made(maker: TapMaker, scope: object) -> EventTap | None:
    try:
        tap: object = maker(scope)
    except Exception:
        logger.exception("making a tap failed")
        return None
    if tap is None or isinstance(tap, EventTap):
        return tap
    logger.error("%r is not an EventTap: it is left out", tap)
    return None


def _finish(tap: EventTap) -> None:
    tap.finish()
