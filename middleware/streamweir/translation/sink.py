"""The receivers of the events of a valid stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from streamweir.events import Content, Event, Stamp, Thinking, Warning
from streamweir.framing import Frame
from streamweir.translation.items import StreamItem, TextRun

__all__ = ["EventSink", "EventTap", "FrameSink", "ListeningSink", "raise_apart"]


class EventSink(Protocol):
    """One receiver of a stream: the writer of a client, a log, a list.

    All sinks of a stream get the same event objects and must not change them. A sink that raises ends the
    stream for all of its sinks.
    """

    def write(self, event: Event, stamp: Stamp) -> None:
        """Take the next event."""
        ...

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Take the next pieces of text.

        Args:
            event: an event with their common fields. A later run with the same object continues the text.
            texts: neither the list nor a text is empty.
            stamp: the stamp of the first text; each further text has the next sequence number.
        """
        ...

    def finish(self) -> None:
        """Note that the last event has been written."""
        ...

    def heartbeat(self) -> bytes:
        """Return bytes to be sent in silence; empty if none should be sent."""
        ...


class ListeningSink:
    """A sink without a client: it stays when the writer of the stream is replaced."""


class FrameSink:
    """A sink that also gets the frames of the upstream, if the reader of the stream keeps their bytes.

    For each frame the pipeline calls `begin_frame`, then `write` for the events of its items, then `frame`.
    For a read that only extends the current text run it calls `write_run`, then `run_frames`. Events that are
    written at any other time are made by the gateway or the application.
    """

    @property
    def copies(self) -> bool:
        """Whether the client gets the frames, so frames may also follow the end of the stream."""
        return False

    def begin_frame(self, frame: Frame, items: Sequence[StreamItem], announced: Sequence[Warning]) -> bool:
        """Note that the next events come from a frame.

        Args:
            frame: the frame, with its `raw` bytes.
            items: the events that were read from it.
            announced: the warnings of the gateway or the application that are written before its events.

        Returns:
            Whether the frame holds one event, which has been found to be safe; False if that is unknown.
        """
        del frame, items, announced
        return False

    def frame(self, raw: bytes, items: Sequence[StreamItem]) -> None:
        """Take a frame whose events have been written; one call for a run of texts.

        Args:
            raw: the bytes of the frame, or of all frames of the run, as they arrived.
            items: the events that were read from them.
        """
        raise NotImplementedError

    def run_frames(self, raw: bytes, event: Content | Thinking, texts: list[str]) -> None:
        """Take the frames of a read that only extends the current text run; by default they go to `frame`.

        Args:
            raw: the bytes of all frames, as they arrived.
            event: the common event of the texts.
            texts: the texts, which `write_run` has already got.
        """
        self.frame(raw, (TextRun(event, texts),))

    def copy_run(self, raw: bytes, event: Content | Thinking) -> bool:
        """Take the frames of a read that only extends the current text run, if nothing is noted of its texts.

        Args:
            raw: the bytes of all frames, as they arrived.
            event: the event that `write_run` would get.

        Returns:
            False if `write_run` and `run_frames` have to be called instead.
        """
        del raw, event
        return False

    def begin_closing(self) -> None:
        """Note that the events up to `end_closing` end the stream in the way that its frames reported."""

    def end_closing(self) -> None:
        """Note that the next events are made by the gateway."""


class EventTap(ABC):
    """A listener to one stream while it runs: a log, a list, a console. It sends nothing to the client.

    Only `write` must be defined. All methods are called in the order of the stream. Added with `taps=` it may
    raise or be slow, and the stream does not notice; added with `add_sink` a tap that raises ends the stream.
    """

    @abstractmethod
    def write(self, event: Event, stamp: Stamp) -> None:
        """Take the next event.

        Args:
            event: the event from which the client's protocol is written; shared with other readers, so never
                change it.
            stamp: its request id, sequence number and time in Unix milliseconds.
        """

    def frame(self, raw: bytes, items: Sequence[StreamItem]) -> None:  # noqa: B027 (most have nothing to do)
        """Take a frame of the upstream; called once for a run of texts.

        Args:
            raw: the bytes of the frame, or of all frames of the run, as they arrived, codings undone.
            items: the events that were read from it, before any repair, or a `TextRun` (`event`, `texts`);
                empty for a frame without an event.
        """

    def attempt_began(self, attempt: int, upstream: str) -> None:  # noqa: B027
        """Note that an upstream is asked. Only the gateway calls this.

        Args:
            attempt: 1 for the first attempt of the request.
            upstream: the label of the upstream in log and metrics.
        """

    def attempt_ended(self, attempt: int, code: str | None) -> None:  # noqa: B027
        """Note that an attempt is over. Only the gateway calls this.

        Args:
            attempt: the number given to `attempt_began`.
            code: the code of the failure that ended it; None: the stream of the attempt is complete.
        """

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Take the next pieces of text, one by one."""
        for place, text in enumerate(texts):
            at = Stamp(stamp.request_id, stamp.sequence + place, stamp.timestamp)
            self.write(event.with_text(text), at)

    def finish(self) -> None:  # noqa: B027 (most have nothing to do)
        """Note that the last event has been given."""

    def heartbeat(self) -> bytes:
        """Return no bytes: a tap has no client."""
        return b""


def raise_apart(failure: Exception) -> None:
    """Raise the failure of a sink in a separate frame, so that its traceback makes no reference cycle."""
    raise failure
