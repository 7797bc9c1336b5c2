"""Reads and writes requests of LangGraph chat apps: a message, or a command to a run that waits.

Source: JoySafeter's chat routes (`/chat/stream`, `/chat/resume`, February 2026); the request contract,
sections 3 to 5.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.requests.canonical import Message, Request
from streamweir.requests.canonical_reader import add_files, add_message, made_request, read_files
from streamweir.requests.fields import Fields
from streamweir.requests.media import url_of
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestReader, RequestWriter
from streamweir.requests.written import Written, without_absent

__all__ = ["READER", "WRITER"]

_GRAPH: Final = "graph_id"
_ACTIONS: Final = {True: "approve", False: "reject"}
_REFUSED: Final = ("cancel", "reject")


def _read(fields: Fields) -> Request:
    if "command" in fields:
        return _command(fields)
    metadata = fields.within("metadata")
    messages: list[Message] = []
    add_message(messages, fields.text("message"))
    add_files(messages, [*read_files(metadata, "files")])
    rest = metadata.rest()
    return made_request(
        messages=messages,
        thread_id=fields.text("thread_id"),
        inputs=without_absent(**{_GRAPH: fields.text(_GRAPH)}),
        extra={"metadata": rest} if rest else None,
    )


def _command(fields: Fields) -> Request:
    """Return the request that a client posts to a waiting run: the answer is its `resume` or the command."""
    thread_id, command = fields.text("thread_id"), fields.mapping("command") or {}
    value = command.get("resume", command)
    action = _ACTIONS[value] if isinstance(value, bool) else "submit"
    held = without_absent(thread_id=thread_id)
    answer = {"interaction_id": "", "action": action, "value": value, "resume": held}
    return made_request(thread_id=thread_id, resume=[answer])


def _write(outgoing: Outgoing) -> Written:
    if outgoing.answers:
        return _resumed(outgoing)
    inputs = outgoing.inputs
    if inputs.keys() - {_GRAPH}:
        outgoing.lose("inputs")
    files = [url_of(part) for part in outgoing.files()]
    metadata = {**outgoing.extra.get("metadata", {}), **without_absent(files=files)}
    body = without_absent(
        message=outgoing.text, thread_id=outgoing.thread_id, graph_id=inputs.get(_GRAPH), metadata=metadata
    )
    return Written({**outgoing.extra, **body})


def _resumed(outgoing: Outgoing) -> Written:
    answer = outgoing.answers[0]
    thread_id = outgoing.thread_id or outgoing.held(answer).get("thread_id")
    value: Any = answer.get("value")
    if answer["action"] in _REFUSED:
        value = False
    elif value is None:
        value = True
    body = without_absent(thread_id=thread_id, command={"resume": value})
    head, slash, last = outgoing.path.rstrip("/").rpartition("/")
    return Written(body, path=f"{head}{slash}resume" if last == "stream" else None)


READER: Final = RequestReader(_read, has_resume=True, sends_new_turns=True)
WRITER: Final = RequestWriter(_write, threads="client", takes=frozenset({"files", "inputs"}))
