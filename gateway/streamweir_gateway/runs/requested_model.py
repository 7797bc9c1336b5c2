"""The model that a client names in its request.

Source: the APIs of OpenAI and Anthropic; the configuration contract (`models`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["requested_model"]


def requested_model(request: Mapping[str, Any]) -> str | None:
    """Return the model that a request names; None if it names no model."""
    model = request.get("model")
    return model if isinstance(model, str) and model else None
