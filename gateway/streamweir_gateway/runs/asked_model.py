"""The model that a client names in its request.

Source: the APIs of OpenAI and Anthropic; the configuration contract (`models`).
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json

__all__ = ["asked_model"]

_LONGEST: Final = 256


def asked_model(body: bytes) -> str | None:
    """Return the model that a body names; None where it names none."""
    if b'"model"' not in body:
        return None
    try:
        request: Any = parse_json(body)[0]
    except MalformedEvent:
        return None
    model = request.get("model") if isinstance(request, dict) else None
    return model if isinstance(model, str) and 0 < len(model) <= _LONGEST else None
