"""Repairs a refused request: a placeholder that the API accepts replaces a missing or invalid signature.

Source: the Gemini API (v1beta), thought signatures; the conversation contract, section 4 (lost).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["mend"]

_SKIPPED: Final = "skip_thought_signature_validator"
_SIGNATURES: Final = ("thoughtSignature", "thought_signature")
_CALLS: Final = ("functionCall", "function_call")
_INVALID: Final = ("not valid", "invalid", "corrupt")


def mend(body: Mapping[str, Any], refusal: str) -> Mapping[str, Any] | None:
    """Return the body with the placeholder on the first call of each step; None if nothing changes.

    Args:
        body: the body of the refused request.
        refusal: the error text of the upstream. If it reports an invalid signature, all signatures are
            replaced, else only missing ones.
    """
    all_of_them = any(word in refusal.lower() for word in _INVALID)
    contents = [_mended(content, all_of_them=all_of_them) for content in body.get("contents", [])]
    return None if contents == body.get("contents", []) else {**body, "contents": contents}


def _mended(content: Mapping[str, Any], *, all_of_them: bool) -> dict[str, Any]:
    if content.get("role") != "model":
        return {**content}
    parts = [_unsigned(part) if all_of_them else part for part in content["parts"]]
    first = next((at for at, part in enumerate(parts) if any(name in part for name in _CALLS)), None)
    if first is not None and not any(name in parts[first] for name in _SIGNATURES):
        parts[first] = {**parts[first], _SIGNATURES[0]: _SKIPPED}
    return {**content, "parts": parts}


def _unsigned(part: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name not in _SIGNATURES}
