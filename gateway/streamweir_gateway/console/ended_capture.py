"""Keeps the facts and the log of an ended stream in one piece of bytes, so that they take little memory.

    state     entered by                            the log is
    ───────   ───────────────────────────────────   ────────────────────────────────────────────────────────
    packed    construction                          in `_packed`, its secrets not masked
    opened    `work`                                in `_opened`, where it is masked
    masked    `work`, once all entries are masked   in `_packed`, its secrets masked

Bytes of reads and writes are not copied: they stay the objects that were read and written, in `_bodies`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from streamweir.capture.masking import SecretMask
from streamweir.codec.base import Options
from streamweir_gateway.console.capture_source import Masking, StreamFacts
from streamweir_gateway.console.ended_masking import EndedMasking
from streamweir_gateway.console.entry_parts import LANE_OF_PART
from streamweir_gateway.console.log_mask import LogMask, shown_event
from streamweir_gateway.console.noted_capture import NotedCapture
from streamweir_gateway.console.request_recorder import RequestRecorder
from streamweir_gateway.console.stream_log import RAW, LeftOut, NumberedEntry
from streamweir_gateway.runs.destination import Destination

__all__ = ["EndedCapture", "KeptCapture", "RawCapture", "packed_capture"]

_OBJECT_BYTES: Final = 400
"""The memory of an ended capture beside its packed log and its bodies, about."""
_BODY_BYTES: Final = 48
"""The memory of the object of a body beside its bytes, about."""
_MAY_BE_RAW: Final = frozenset({"request", "response", "given", "attempt", *LANE_OF_PART})
"""The kinds of entries that may hold secrets."""

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(tuple[tuple[Any, ...], list[list[Any]]])


RawCapture: TypeAlias = RequestRecorder | NotedCapture
"""The capture of a stream that has ended, before its log is wanted."""


class _Parts(NamedTuple):
    """The facts and the log of a stream."""

    facts: StreamFacts
    entries: Sequence[Any]


class EndedCapture(EndedMasking):
    """An ended stream. It is its own `Masking`. The docstring of this file lists its states.

    Args:
        recorder: of the stream, or the capture of its notes.
        entries: the whole log of the stream. They are of no use afterwards.

    Raises:
        TypeError, ValueError, OverflowError: a value of the log cannot be packed; the entries are as before.

    Attributes:
        row_id: of the row.
        size: the bytes of memory, about. It does not change when secrets are masked.
        destination: see `CaptureSource`.
        options: see `CaptureSource`.
    """

    __slots__ = (
        "_bodies",
        "_has_bodies",
        "_opened",
        "_packed",
        "_secrets",
        "destination",
        "options",
        "row_id",
        "size",
    )

    left_out: Mapping[str, LeftOut] = MappingProxyType({})
    is_over = True

    def __init__(self, recorder: RawCapture, entries: Sequence[Any]) -> None:
        self.row_id = recorder.row_id
        self.destination: Destination | None = recorder.destination
        self.options: Mapping[str, Options] = recorder.options
        self._secrets: SecretMask | None = recorder.secrets
        """Finds the secrets of the configuration; None once all secrets are masked."""
        self._has_bodies = recorder.has_content
        self._opened: tuple[_Parts, LogMask] | None = None
        self._pack(_Parts(recorder.facts(), entries))
        size, count = sum(map(len, self._bodies)), len(self._bodies)
        self.size = _OBJECT_BYTES + len(self._packed) + size + _BODY_BYTES * count

    def _pack(self, parts: _Parts) -> None:
        facts, entries = parts
        bodies = _taken_from(entries) if self._has_bodies else ()
        try:
            packed = _ENCODER.encode((facts, entries))
        except BaseException:
            _give_back(entries, bodies)
            raise
        self._packed, self._bodies = packed, bodies

    def _unpacked(self) -> _Parts:
        facts, entries = _DECODER.decode(self._packed)
        _give_back(entries, self._bodies)
        return _Parts(
            StreamFacts(*facts),
            [entry if entry[0] in _MAY_BE_RAW else (*entry,) for entry in entries],
        )

    # --- masking --------------------------------------------------------------------------------------------

    @property
    def masking(self) -> Masking:
        """Masks the log."""
        return self

    @property
    def has_work(self) -> bool:
        """Whether `work` would mask any entry."""
        return self._secrets is not None

    def work(self, most: int) -> None:
        """Mask the oldest entries, about `most` bytes of them."""
        if self._secrets is None:
            return
        if self._opened is None:
            parts = self._unpacked()
            self._opened = parts, _mask_of(parts.entries, self._secrets)
        parts, mask = self._opened
        mask.work(most)
        if not mask.has_work:
            self._opened = self._secrets = None
            self._pack(_shown(parts, mask))

    # --- showing --------------------------------------------------------------------------------------------

    def facts(self) -> StreamFacts:
        """Return the facts, whose secrets are masked."""
        return self._unpacked().facts

    def entries(self, start: int) -> Iterable[NumberedEntry]:
        """Return the entries of the log from number `start` on; none until they are masked."""
        if self._secrets is not None:
            return ()
        return enumerate(self._unpacked().entries[start:], start)

    def shown(self, text: str) -> str:
        """Return the text: the secrets of the facts are masked together with the log."""
        return text


def packed_capture(recorder: RawCapture) -> RequestRecorder | EndedCapture:
    """Return the capture of a stream that has ended, as it is kept.

    The recorder itself is kept if its log is not whole, if some of it has been masked, or if a value in it
    cannot be packed.
    """
    if isinstance(recorder, NotedCapture):
        return EndedCapture(recorder, recorder.whole_log())
    entries = recorder.whole_log()
    if entries is None:
        return recorder
    try:
        return EndedCapture(recorder, entries)
    except (TypeError, ValueError, OverflowError):
        return recorder


KeptCapture: TypeAlias = RawCapture | EndedCapture


def _mask_of(entries: Iterable[Any], secrets: SecretMask) -> LogMask:
    mask = LogMask(secrets, lambda _: None)
    mask.is_over = True
    mask.raw.extend(entry for entry in entries if entry[0] in _MAY_BE_RAW and entry[-1] is RAW)
    return mask


def _shown(parts: _Parts, mask: LogMask) -> _Parts:
    """Return the parts of a masked log, with the secrets in its facts masked too."""
    facts, entries = parts
    facts = facts._replace(request_id=mask.shown(facts.request_id))
    if facts.session_id is not None:
        facts = facts._replace(session_id=mask.shown(facts.session_id))
    return _Parts(facts, [shown_event(entry, mask.secrets) for entry in entries])


def _taken_from(entries: Iterable[Any]) -> list[bytes]:
    """Take the bytes of reads and writes out of their entries."""
    bodies: list[bytes] = []
    for entry in entries:
        if entry[0] in LANE_OF_PART:
            bodies.append(entry[2])
            entry[2] = None
    return bodies


def _give_back(entries: Iterable[Any], bodies: Sequence[bytes]) -> None:
    """Put the bytes of reads and writes back into their entries."""
    if bodies:
        next_body = iter(bodies)
        for entry in entries:
            if entry[0] in LANE_OF_PART:
                entry[2] = next(next_body)
