"""The mark of events that this process writes into a stream as text; see `stream_events`."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["PROCESS_TOKEN", "TOKEN_KEY", "TOKEN_PREFIX"]

TOKEN_KEY: Final = "streamweir"
PROCESS_TOKEN: Final = os.urandom(16).hex()

TOKEN_PREFIX: Final = f'{{"{TOKEN_KEY}":"{PROCESS_TOKEN}",'.encode()
"""The beginning of the JSON text of an event that this process writes."""
