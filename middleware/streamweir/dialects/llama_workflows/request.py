"""Writes requests to the workflow server: one starts the run, the next one follows its events.

Source: llama-agents-server 0.8, its routes as recorded; the request contract, sections 4 and 5.
"""

from __future__ import annotations

from typing import Final

from streamweir.requests.outgoing import Outgoing, answer_text
from streamweir.requests.sides import RequestWriter
from streamweir.requests.written import Taken, Written, path_segment

__all__ = ["WRITER"]

_FROM_THE_START: Final = "-1"


def _write(outgoing: Outgoing) -> list[Written]:
    if outgoing.answers:
        return _answered(outgoing)
    start = {"start_event": {"message": outgoing.text, **outgoing.inputs}}
    first = Written(start, takes={"handler_id": "handler_id"})
    return [first, _events(_base(outgoing), Taken("handler_id"), _FROM_THE_START)]


def _answered(outgoing: Outgoing) -> list[Written]:
    """Return the requests that send the answer to the waiting workflow and follow its events."""
    (answer, *_) = outgoing.answers
    held = outgoing.held(answer)
    handler = held.get("handler_id")
    if answer["action"] in ("cancel", "reject") or not isinstance(handler, str):
        raise outgoing.cannot_answer()
    base = _base(outgoing)
    event = {"type": "HumanResponseEvent", "value": {"response": answer_text(answer.get("value")) or "yes"}}
    sequence = held.get("after_sequence")
    after = sequence if isinstance(sequence, str) else _FROM_THE_START
    return [
        Written({"event": event}, path=_path(base, handler)),
        _events(base, handler, after),
    ]


def _events(base: str, handler: str, after: str) -> Written:
    query = {"sse": "true", "after_sequence": after}
    return Written(method="GET", path=_path(base, handler), query=query, given={"handler_id": handler})


def _path(base: str, handler: str) -> str:
    return f"{base}/events/{path_segment(handler, 'resume')}"


def _base(outgoing: Outgoing) -> str:
    return outgoing.path.partition("/workflows/")[0].rstrip("/")


WRITER: Final = RequestWriter(_write, takes=frozenset({"inputs"}))
