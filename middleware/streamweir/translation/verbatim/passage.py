"""A frame of the upstream on its way to a client that gets copies."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from streamweir.events import Warning
from streamweir.framing import Frame

__all__ = ["Passage"]


class Passage(Struct, eq=False, gc=False):
    """A frame whose events are being written.

    Attributes:
        frame: the frame.
        announced: the warnings that are written with its events.
        safe: the bytes of the frame that may be sent; None: none may be. Empty once they have been written.
        is_replaced: the events of the frame are written instead of its bytes.
    """

    frame: Frame
    announced: Sequence[Warning]
    safe: bytes | None = None
    is_replaced: bool = False
