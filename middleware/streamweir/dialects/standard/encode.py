"""Writes the standard protocol, the envelope in parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

from streamweir.codec.base import Encoder
from streamweir.codec.frame_template import Number
from streamweir.codec.opaque_values import OPAQUE_OPTION
from streamweir.dialects.standard.encode_first_version import in_first_version
from streamweir.events import EVENT_TYPES, Content, Event, Stamp, Thinking, wire_data, wire_metadata
from streamweir.framing import Frame
from streamweir.jsontext import write_json

__all__ = ["StandardEncoder"]

_STARTS: Final = {cls: b'{"type":"%b","data":' % name.encode() for name, cls in EVENT_TYPES.items()}
"""By class: how an event begins on the wire."""


class StandardEncoder(Encoder):
    """Writes the standard protocol.

    Options:
        version: `1.0` for clients that know neither `op: replace` nor the words of 1.1: what is suspended is
            completed, data of a kind that 1.0 does not have is custom, and `opaque` is left out.
        opaque: `off` leaves `opaque` out for all clients.
    """

    framings = ("sse", "ndjson")
    option_values: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "version": ("1.1", "1.0"),
        **OPAQUE_OPTION,
    }

    @property
    def can_replace(self) -> bool:
        """Clients of 1.0 would append a replacement."""
        return not self.options or self.option("version") != "1.0"

    @property
    def carries_opaque(self) -> bool:
        """Clients of 1.0 have no opaque values."""
        return super().carries_opaque and not (self.options and self.option("version") == "1.0")

    _is_first_version = False
    _timestamp = -1
    _metadata = b""

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the one frame that is `event`.

        Fields that are the same in all events of one read are encoded once.
        """
        if stamp.timestamp != self._timestamp:
            self._begin_read(stamp)
        if self._is_first_version:
            event = in_first_version(event)
        sequence = str(stamp.sequence)
        message = (
            _STARTS[type(event)],
            write_json(wire_data(event)),
            self._metadata,
            sequence.encode(),
            b"," + write_json(wire_metadata(event))[1:] + b"}" if event.meta else b"}}",
        )
        return (Frame(b"".join(message), None, sequence),)

    def _begin_read(self, stamp: Stamp) -> None:
        """Encode the fields that are the same in all events of one read."""
        self._timestamp = stamp.timestamp
        self._metadata = b',"metadata":{"request_id":%b,"timestamp":%d,"sequence":' % (
            write_json(stamp.request_id),
            stamp.timestamp,
        )
        self._is_first_version = bool(self.options) and self.option("version") == "1.0"

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """The sequence counts; the timestamp is that of the read."""
        del event, texts
        return {"sequence": (stamp.sequence, 1), "timestamp": (stamp.timestamp, 0)}
