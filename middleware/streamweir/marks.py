"""The mark of the events that this process itself puts into a stream as text; see `stream_events`."""

from __future__ import annotations

import secrets
from typing import Final

__all__ = ["MARK", "MARKED", "MARK_KEY"]

MARK_KEY: Final = "streamweir"
MARK: Final = secrets.token_hex(16)

MARKED: Final = f'{{"{MARK_KEY}":"{MARK}",'.encode()
"""How the JSON text of such an event begins."""
