"""The model that a client names in its request.

Source: the APIs of OpenAI and Anthropic; the configuration contract (`models`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["requested_model"]

_LONGEST: Final = 256


def requested_model(request: Mapping[str, Any]) -> str | None:
    """Return the model that a request names; None if it names no model."""
    model = request.get("model")
    return model if isinstance(model, str) and 0 < len(model) <= _LONGEST else None
