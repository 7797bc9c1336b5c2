"""Checks streams with the models of ag-ui-protocol: a request a line on stdin, what is wrong on stdout."""

import json
import sys
import urllib.error
import urllib.request
from typing import Any

from ag_ui.core import Event  # type: ignore[import-not-found]
from pydantic import TypeAdapter, ValidationError

EVENTS: TypeAdapter[Any] = TypeAdapter(Event)
BODY = {
    "threadId": "thread-1",
    "runId": "run-1",
    "state": {},
    "messages": [{"id": "u1", "role": "user", "content": "Hello"}],
    "tools": [],
    "context": [],
    "forwardedProps": {},
}


def read(url: str, headers: dict[str, str]) -> dict[str, Any]:
    """Return how the stream at `url` ends, its text, and the events that are none."""
    request = urllib.request.Request(
        url, json.dumps(BODY).encode(), {"Content-Type": "application/json", **headers}
    )
    seen: dict[str, Any] = {"text": "", "thinking": "", "end": None, "error": None, "wrong": []}
    try:
        response = urllib.request.urlopen(request, timeout=20)
    except urllib.error.HTTPError as refusal:
        return {**seen, "error": refusal.read().decode()}
    with response:
        for line in response:
            if line.startswith(b"data: "):
                note(line[6:], seen)
    return seen


def note(data: bytes, seen: dict[str, Any]) -> None:
    """Add one event to what was seen."""
    try:
        event = EVENTS.validate_json(data)
    except ValidationError as error:
        seen["wrong"].append(f"{data[:200]!r}: {error.errors()[0]['msg']}")
        return
    if extra := event.model_extra:
        seen["wrong"].append(f"{event.type.value} with {sorted(extra)}")
    match event.type.value:
        case "TEXT_MESSAGE_CONTENT":
            seen["text"] += event.delta
        case "REASONING_MESSAGE_CONTENT":
            seen["thinking"] += event.delta
        case "RUN_ERROR":
            seen["end"], seen["error"] = "error", event.message
        case "RUN_FINISHED":
            seen["end"] = event.outcome.type if event.outcome else "success"


for asked in sys.stdin:
    print(json.dumps(read(**json.loads(asked))), flush=True)
