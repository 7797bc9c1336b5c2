"""What chat protocols read from a folded result: whose the calls are, what is asked, how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamweir.codec.questions import asks_person, question_text
from streamweir.codec.standard_events import read_standard
from streamweir.codec.suspension import SUSPENSION
from streamweir.events import Interaction

__all__ = ["citations", "client_calls", "finish_reason", "suspension_of", "text_of_turn"]


def client_calls(folded: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the calls that the client is to run."""
    requested = {
        asked["interaction_id"]
        for asked in folded["message"]["interactions"]
        if asked["kind"] == "tool" and asked["state"] == "requested"
    }
    calls = folded["message"]["tool_calls"]
    return [call for call in calls if call["tool_id"] in requested and call["status"] == "running"]


def citations(folded: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all that the answer relies on."""
    return [citation for event in folded["message"]["references"] for citation in event["citations"]]


def suspension_of(folded: Mapping[str, Any]) -> dict[str, Any]:
    """Return the field, with its name, that says that the run waits for a person; nothing if it does not."""
    if folded["status"] != "suspended" or client_calls(folded):
        return {}
    return {SUSPENSION: {"status": "suspended", "interactions": _open_questions(folded)}}


def _open_questions(folded: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a person is asked and nobody has answered or taken back."""
    found: dict[str, dict[str, Any]] = {}
    for data in folded["message"]["interactions"]:
        if data["kind"] != "tool":
            found[data["interaction_id"]] = data
    return [data for data in found.values() if data["state"] == "requested"]


def text_of_turn(folded: Mapping[str, Any]) -> str:
    """Return all texts, one channel after the other, and what a person is asked."""
    message = folded["message"]
    texts = [message["content"], *message.get("channels", {}).values()]
    for data in message["interactions"]:
        event = read_standard({"type": "interaction", "data": data, "metadata": {}})
        if isinstance(event, Interaction) and asks_person(event):
            texts.append(question_text(event))
    return "\n\n".join(text for text in texts if text)


def finish_reason(folded: Mapping[str, Any]) -> str:
    """Return why the turn is over, as the standard's `finish_reason`."""
    if client_calls(folded):
        return "tool_calls"
    reason = str((folded["summary"] or {}).get("finish_reason"))
    return reason if reason in ("length", "content_filter") else "stop"
