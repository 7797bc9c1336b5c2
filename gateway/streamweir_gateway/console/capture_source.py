"""The facts and the log of one stream, as its capture is made of them: while it runs, and after its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from streamweir.codec.base import Options
from streamweir_gateway.console.stream_log import LeftOut, NumberedEntry
from streamweir_gateway.runs.destination import Destination

__all__ = ["CaptureSource", "Masking", "StreamFacts", "meta_of"]


class StreamFacts(NamedTuple):
    """The facts about one stream that its capture begins with.

    Attributes:
        began: when the request arrived, by `time.monotonic`.
        first_event: the sequence number of the first event of the response; not 0 if a client resumes.
        first_event_ms: the milliseconds from the arrival to the first event of the upstream.
    """

    request_id: str
    has_content: bool
    endpoint: str | None
    upstream: str | None
    speaks: str | None
    answers: str | None
    framing: str | None
    config: str | None
    trace_id: str | None
    session_id: str | None
    began: float
    first_event: int
    first_event_ms: float | None


class Masking(Protocol):
    """Masks the secrets in one log, bit by bit."""

    @property
    def has_work(self) -> bool:
        """Whether `work` would mask any entry."""

    @property
    def held_since(self) -> float | None:
        """The time of the oldest entry that is held back; None if no entry is held back."""

    @property
    def is_within_line(self) -> bool:
        """Whether the last line of an entry that is held back is not complete."""
        ...

    def work(self, most: int) -> None:
        """Mask the oldest entries, about `most` bytes of them."""

    def release(self) -> None:
        """Mask the entries that are held back, although their lines may go on."""


class CaptureSource(Protocol):
    """A stream whose capture can be shown."""

    @property
    def masking(self) -> Masking:
        """Masks the log."""

    @property
    def destination(self) -> Destination | None:
        """The upstream of the last attempt; None if no upstream was asked."""

    @property
    def options(self) -> Mapping[str, Options]:
        """The options of each dialect in the last attempt, by its name."""

    @property
    def left_out(self) -> Mapping[str, LeftOut]:
        """The bytes and lines that were left out of the log, by lane."""

    @property
    def is_over(self) -> bool:
        """Whether the stream has ended."""

    def facts(self) -> StreamFacts:
        """Return the facts, as far as they are known now."""

    def entries(self, start: int) -> Iterable[NumberedEntry]:
        """Return the entries of the log from number `start` on, up to the first one that is not masked."""

    def shown(self, text: str) -> str:
        """Return a text without secrets."""


def meta_of(source: CaptureSource) -> dict[str, Any]:
    """Return the fields of the first line of a capture file; secrets in them are not masked."""
    facts, destination = source.facts(), source.destination
    found = {
        "id": facts.request_id,
        "content": "full" if facts.has_content else "metadata",
        "endpoint": facts.endpoint,
        "upstream": facts.upstream,
        "speaks": facts.speaks,
        "answers": facts.answers,
        "framing": facts.framing,
        "options": None
        if destination is None
        else destination.recorded_options(source.options, facts.answers or "standard"),
        "config": facts.config,
        "trace_id": facts.trace_id,
        "session_id": facts.session_id,
    }
    return {name: value for name, value in found.items() if value is not None}
