"""The words that the decoder and the encoder share."""

from __future__ import annotations

from typing import Final

__all__ = ["TRACE"]

TRACE: Final = ("tags", "trace_id", "observation_id", "parent_observation_id")
"""The fields of an envelope that belong to tracing."""
