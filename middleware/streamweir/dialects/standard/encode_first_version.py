"""Converts events to the words of version 1.0, for clients that know no other version.

Source: the standard protocol 1.1, head: which words of known types 1.0 does not have. Unknown types and
fields are sent: clients of 1.0 ignore them. `opaque` is left out by the writer.
"""

from __future__ import annotations

from typing import Final

import msgspec

from streamweir.events import Data, Event, SessionEnd, SessionStart

__all__ = ["in_first_version"]

_VERSION: Final = "1.0"
_DATA_TYPES: Final = frozenset({"dataframe", "chart", "image", "custom"})


def in_first_version(event: Event) -> Event:
    """Return `event` with the words of 1.0; `event` itself if it has only such words."""
    match event:
        case SessionStart():
            return msgspec.structs.replace(event, protocol=_VERSION)
        case SessionEnd(status="suspended"):
            return msgspec.structs.replace(event, status="completed")
        case Data(data_type=kind, data=data) if kind not in _DATA_TYPES:
            return msgspec.structs.replace(event, data_type="custom", data={"name": kind, "value": data})
    return event
