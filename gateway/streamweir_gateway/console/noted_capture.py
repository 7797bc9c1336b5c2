"""Keeps the facts and the notes of a stream that has ended in one piece of bytes, until its log is wanted.

Most captures make room for newer ones before anybody looks at them. As one piece of bytes they take little
memory, and no work of the garbage collector.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import msgspec

from streamweir.capture.masking import SecretMask
from streamweir.codec.base import Options
from streamweir_gateway.console.capture_source import StreamFacts
from streamweir_gateway.console.outline_log import OutlineLog
from streamweir_gateway.console.recorded_request import CaptureSettings, RecordedRequest
from streamweir_gateway.console.relays import RELAY_BYTES, with_relays
from streamweir_gateway.console.stream_log import ENTRY_BYTES, Entry, StreamLog
from streamweir_gateway.runs.destination import Destination

__all__ = ["NotedCapture", "packed_notes"]

_OBJECT_BYTES: Final = 400
"""The memory of a capture beside its packed notes, about."""

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(tuple[tuple[Any, ...], list[list[Any]], bytes])


class NotedCapture(msgspec.Struct, eq=False, gc=False):
    """The capture of a stream without content that has ended. Secrets in it are not masked.

    Attributes:
        row_id: of the row.
        settings: of the capture.
        destination: see `CaptureSource`.
        options: see `CaptureSource`.
        packed: its `StreamFacts`, its notes, and its packed relayed reads.
        is_raw: whether the log has not been asked for.
    """

    has_content: ClassVar = False
    mask: ClassVar = None

    row_id: str
    settings: CaptureSettings
    destination: Destination | None
    options: Mapping[str, Options]
    packed: bytes
    is_raw: bool = True

    @property
    def size(self) -> int:
        """The bytes of memory, about."""
        return _OBJECT_BYTES + len(self.packed)

    @property
    def secrets(self) -> SecretMask:
        """Finds the secrets of the configuration."""
        return self.settings.mask

    def facts(self) -> StreamFacts:
        """Return the facts about the stream."""
        return StreamFacts(*_DECODER.decode(self.packed)[0])

    def whole_log(self) -> list[Entry]:
        """Return all entries of the log."""
        self.is_raw = False
        _, notes, relays = _DECODER.decode(self.packed)
        log = OutlineLog(StreamLog(self.settings.max_bytes, deque()))
        log.take(with_relays(notes, relays))
        log.flush()
        entries = log.log.whole()
        assert entries is not None, "the notes fit into the head of the log"
        return entries


def packed_notes(request: RecordedRequest, notes: Sequence[Entry], relays: bytearray) -> NotedCapture | None:
    """Return the capture of a stream that has ended.

    None is returned if the log might have to leave out some of the notes, or if a value in them cannot be
    packed.

    Args:
        request: the facts about the request.
        notes: all notes but those of relayed reads; see `NotedLog`.
        relays: the notes of relayed reads; see `relays.py`. Each becomes two entries of the log at most.
    """
    most_entries = len(notes) + 2 * len(relays) // RELAY_BYTES
    if ENTRY_BYTES * most_entries + len(relays) > request.settings.max_bytes // 2:
        return None
    try:
        packed = _ENCODER.encode((request.facts(), notes, relays))
    except (TypeError, ValueError, OverflowError):
        return None
    return NotedCapture(request.row_id, request.settings, request.destination, request.options, packed)
