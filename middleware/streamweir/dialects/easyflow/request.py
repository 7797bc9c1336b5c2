"""Reads and writes requests of EasyFlow chat: a message, or the values of a form.

Source: the EasyFlow chat protocol specification 1.1; the request contract, sections 3 to 5.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.codec.questions import APPROVED
from streamweir.requests.canonical import Answer, Message, Request
from streamweir.requests.canonical_reader import add_files, add_message, made_request, read_files
from streamweir.requests.fields import Fields
from streamweir.requests.media import described_file
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestReader, RequestWriter
from streamweir.requests.written import Written, without_absent

__all__ = ["READER", "WRITER"]


def _read(fields: Fields) -> Request:
    conversation = fields.text("conversation_id") or fields.text("conversationId")
    form_id = fields.text("form_id") or fields.text("formId")
    if form_id:
        return made_request(thread_id=conversation, resume=[_answer(fields, form_id, conversation)])
    messages: list[Message] = []
    add_message(messages, fields.text("message") or fields.text("prompt"))
    add_files(messages, [*read_files(fields, "files")])
    return made_request(messages=messages, thread_id=conversation, inputs=fields.mapping("inputs"))


def _answer(fields: Fields, form_id: str, conversation: str | None) -> dict[str, Any]:
    values, cancelled = fields.get("values"), fields.boolean("cancelled")
    return without_absent(
        interaction_id=form_id,
        action="cancel" if cancelled else "submit",
        value=None if cancelled else values,
        resume=without_absent(conversation_id=conversation, form_id=form_id),
    )


def _write(outgoing: Outgoing) -> Written:
    if outgoing.answers:
        return Written(_answered(outgoing.answers[0], outgoing))
    body = without_absent(
        message=outgoing.text,
        conversation_id=outgoing.thread_id,
        inputs=outgoing.inputs,
        files=[described_file(part) for part in outgoing.files()],
    )
    return Written({**outgoing.extra, **body})


def _answered(answer: Answer, outgoing: Outgoing) -> dict[str, Any]:
    held = answer.get("resume")
    held = held if isinstance(held, dict) else {}
    ids = without_absent(
        conversation_id=held.get("conversation_id") or outgoing.thread_id,
        form_id=held.get("form_id") or answer["interaction_id"],
    )
    if answer["action"] in ("cancel", "reject"):
        return {**ids, "cancelled": True}
    value = answer.get("value")
    if answer["action"] == "approve" and not isinstance(value, dict):
        value = {APPROVED: True}
    return {**ids, "values": {} if value is None else value}


READER: Final = RequestReader(
    _read, has_resume=True, sends_new_turns=True, field_names={"thread_id": "conversation_id"}
)
WRITER: Final = RequestWriter(_write, threads="client", takes=frozenset({"files", "inputs"}))
