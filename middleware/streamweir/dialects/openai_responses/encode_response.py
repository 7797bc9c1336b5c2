"""Makes the response object: for the events of the beginning and the end, and as a whole answer.

    state         status        completed_at   error    incomplete_details
    ───────────   ───────────   ────────────   ──────   ──────────────────
    no output     queued        null           null     null
    under way     in_progress   null           null     null
    completed     completed     Unix seconds   null     null
    cut short     incomplete    null           null     {reason}
    failed        failed        null           {code}   null

A response repeats the fields of its request. Absent fields, and fields of a wrong type, have the defaults of
the API, so every response has all fields.

Source: the Responses API (openai-python 3.57, `response.py`); Open Responses, `ResponseResource`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from streamweir.events import Error

__all__ = ["ECHOED_FIELDS", "Response", "response_error"]

_INCOMPLETE: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}

_NUMBER: Final = (int, float)
_PLAIN_TEXT: Final[Mapping[str, Any]] = {"format": {"type": "text"}}

_DEFAULTS: Final[Mapping[str, tuple[type | tuple[type, ...], Any]]] = {
    "previous_response_id": (str, None),
    "instructions": ((str, list), None),
    "tools": (list, []),
    "tool_choice": ((str, dict), "auto"),
    "truncation": (str, "disabled"),
    "parallel_tool_calls": (bool, True),
    "text": (dict, _PLAIN_TEXT),
    "top_p": (_NUMBER, 1),
    "presence_penalty": (_NUMBER, 0),
    "frequency_penalty": (_NUMBER, 0),
    "top_logprobs": (int, 0),
    "temperature": (_NUMBER, 1),
    "reasoning": (dict, None),
    "user": (str, None),
    "max_output_tokens": (int, None),
    "max_tool_calls": (int, None),
    "store": (bool, True),
    "background": (bool, False),
    "service_tier": (str, "default"),
    "metadata": (dict, {}),
    "safety_identifier": (str, None),
    "prompt_cache_key": (str, None),
}
"""For each field of a request that a response repeats: the types of its value, and its default."""

ECHOED_FIELDS: Final = (*_DEFAULTS, "conversation", "include")
"""The fields of a request from which fields of its response are made."""


class Response(NamedTuple):
    """The facts about one response that are equal in all of its objects.

    Attributes:
        id: the id of the response.
        model: the client's name of the model.
        created_at: the start, in Unix seconds.
        asked: the fields of the request (`ECHOED_FIELDS`).
    """

    id: str
    model: str
    created_at: int
    asked: Mapping[str, Any]

    def pending(self, status: str) -> dict[str, Any]:
        """Return a response without output: `queued`, `in_progress` or `cancelled`."""
        return self._object(status, [])

    def failed(self, error: Mapping[str, str], output: list[Any]) -> dict[str, Any]:
        """Return a response that ended with a failure."""
        return self._object("failed", output, error=error)

    def ended(
        self, reason: str, summary: Mapping[str, Any] | None, output: list[Any], *, at: int
    ) -> dict[str, Any]:
        """Return a response that is complete or cut short.

        Args:
            reason: why the response has ended, as the standard's `finish_reason`.
            summary: the summary of the session.
            output: the items of the response.
            at: the end, in Unix seconds.
        """
        usage = _usage(summary or {})
        if cut_short := _INCOMPLETE.get(reason):
            return self._object("incomplete", output, incomplete_details={"reason": cut_short}, usage=usage)
        return self._object("completed", output, completed_at=at, usage=usage)

    def _object(self, status: str, output: list[Any], **known: Any) -> dict[str, Any]:
        found = {
            "id": self.id,
            "object": "response",
            "created_at": self.created_at,
            "completed_at": known.get("completed_at"),
            "status": status,
            "incomplete_details": known.get("incomplete_details"),
            "model": self.model,
            "error": known.get("error"),
            "usage": known.get("usage"),
            **{name: self._asked(name) for name in _DEFAULTS},
            "output": output,
        }
        conversation = _conversation(self.asked.get("conversation"))
        return {**found, **({"conversation": conversation} if conversation else {})}

    def _asked(self, name: str) -> Any:
        types, default = _DEFAULTS[name]
        value = self.asked.get(name)
        if not isinstance(value, types) or (types is not bool and isinstance(value, bool)):
            return default
        if isinstance(value, dict) and name == "text" and not value.get("format"):
            return {**value, **_PLAIN_TEXT}
        return value


def response_error(error: Error) -> dict[str, str]:
    """Return the `error` of a failed response; the API allows only a few codes in it."""
    code = "rate_limit_exceeded" if error.code == "RATE_LIMITED" else "server_error"
    return {"code": code, "message": error.message}


def _conversation(asked: Any) -> dict[str, str] | None:
    found = asked.get("id") if isinstance(asked, dict) else asked
    return {"id": found} if isinstance(found, str) and found else None


def _usage(summary: Mapping[str, Any]) -> dict[str, Any] | None:
    prompt, completion = summary.get("prompt_tokens"), summary.get("completion_tokens")
    if prompt is None or completion is None:
        return None
    return {
        "input_tokens": prompt or 0,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": completion or 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": summary.get("total_tokens") or (prompt or 0) + (completion or 0),
    }
