"""Writes a stored stream for a client of the upstream's own dialect, from the stored frames.

Source: the standard protocol 1.1, section 8; the contract of resumable streams, section 3.
"""

from __future__ import annotations

from streamweir.codec.base import Encoder
from streamweir.codec.dialect import Dialect
from streamweir.events import Event, Stamp
from streamweir.framing import LineFraming
from streamweir.translation.items import TextRun
from streamweir.translation.reader import StreamReader
from streamweir.translation.verbatim.verbatim_writer import VerbatimWriter

__all__ = ["CopiedWriter"]


class CopiedWriter(VerbatimWriter):
    """Writes stored frames unchanged, and those events that have no stored frames.

    Events without stored frames end a body because the run is lost, its store does not answer, or the gateway
    stops. They are written like the events of the gateway between copied frames.

    Args:
        dialect: of the client and of the upstream.
        encoder: of this stream.
        framing: of the stored frames.
        source: a reader of the dialect; no bytes are read with it.
    """

    def __init__(
        self, dialect: Dialect, encoder: Encoder, framing: LineFraming, *, source: StreamReader
    ) -> None:
        super().__init__(dialect, encoder, framing, source=source, requested=framing)
        self._copies = True
        self._written = 0
        """The number of bytes of stored frames that have been written."""

    def copy(self, data: bytes, place: int) -> None:
        """Write the part of stored frames that has not been written yet.

        Args:
            data: their bytes.
            place: the number of bytes before them.
        """
        new = data[max(0, self._written - place) :]
        if not new:
            return
        self._written = place + len(data)
        if not self._has_copied_data and new.strip():
            self._write_like(new)
        self._out.append(new)
        self.has_copied = True
        self.begin_body()

    def show(self, item: Event | TextRun, stamp: Stamp) -> None:
        """Show the encoder an event, or a text run, whose frames are stored."""
        if isinstance(item, TextRun):
            self.write_run(item.event, item.texts, stamp)
        else:
            self._show(item, stamp)
