"""Reads a chat of UI messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streamweir.codec.coerce import text_of
from streamweir.requests.call_arguments import made_call
from streamweir.requests.canonical import Answer, Message, Opaque, Part, Request
from streamweir.requests.canonical_reader import made_request, read_answers
from streamweir.requests.fields import Fields, one_of
from streamweir.requests.media import file_part, present_file
from streamweir.requests.messages import made_message
from streamweir.requests.opaque_values import sealed
from streamweir.requests.turn_content import TurnContent, reasoning_part

__all__ = ["read_chat"]

_ROLES: Final = ("system", "user", "assistant")
_LEFT_OUT: Final = ("data-", "reasoning", "source-", "custom", "steering-")
"""The beginnings of the types of parts that are left out; for reasoning, only its files."""

_UNWRITTEN: Final = "input-streaming"
_METADATA: Final = "providerMetadata"
_CALL_METADATA: Final = "callProviderMetadata"
_DENIED: Final = "The call was not approved."


def read_chat(fields: Fields) -> Request:
    """Return the request in a page's body."""
    fields.leave("trigger", "messageId")
    messages: list[Message] = []
    answers: list[Answer] = []
    for item in fields.objects("messages"):
        role = item.get("role")
        if role not in _ROLES:
            raise item.error("role", one_of(_ROLES))
        turn = _Turn(str(role), item.text("id"))
        for part in item.objects("parts"):
            turn.add(part)
        if "parts" not in item and (text := item.text("content")):
            turn.add_text(text)  # of AI SDK 4
        messages += turn.messages()
        answers = turn.answers  # of the last message alone: what was asked before has been answered
    return made_request(
        messages=messages, thread_id=fields.text("id"), resume=[*answers, *read_answers(fields)]
    )


class _Turn:
    """One UI message of the assistant, with several messages of a model, one for each step, and results."""

    def __init__(self, role: str, message_id: str | None) -> None:
        self.answers: list[Answer] = []
        self._role = role
        self._id = message_id
        self._done: list[Message] = []
        self._content = TurnContent()
        self._results: list[Message] = []

    def messages(self) -> Iterator[Message]:
        """Yield the canonical messages."""
        self._end_step()
        yield from self._done

    def add(self, part: Fields) -> None:
        """Add a part of the UI message."""
        kind = part.required_text("type")
        if kind == "step-start":
            self._end_step()
        elif kind == "text":
            self.add_text(part.required_text("text"), self._opaque_of(part, _METADATA))
        elif kind == "reasoning":
            self._add_reasoning(part)
        elif kind == "file":
            url, name = part.required_text("url"), part.text("filename")
            file = file_part(None, url=url, media_type=part.text("mediaType"), name=name)
            self._content.add_part(present_file(part, file, "a file with `url`"))
        elif kind == "dynamic-tool" or kind.startswith("tool-"):
            name = part.text("toolName") or kind.removeprefix("tool-")
            self._add_call(part, name)
        elif not kind.startswith(_LEFT_OUT):
            raise part.error("type", "text, file, tool-NAME, dynamic-tool, step-start or data-NAME")

    def add_text(self, text: str, opaque: Opaque | None = None) -> None:
        """Add a text, with its opaque value if there is one."""
        part: Part = {"type": "text", "text": text}
        self._content.add_part({**part, "opaque": opaque} if opaque else part)

    def _add_reasoning(self, part: Fields) -> None:
        """Add a piece of reasoning; a text of another type is lost."""
        if self._role == "assistant":
            text = part.get("text")
            opaque = self._opaque_of(part, _METADATA)
            self._content.add_part(reasoning_part(text if isinstance(text, str) else "", opaque))

    def _opaque_of(self, part: Fields, name: str) -> Opaque | None:
        """Return the opaque value in the metadata under `streamweir`; values of providers are left out."""
        match part.get(name):
            case {"streamweir": {"opaque": value}} if self._role == "assistant":
                return sealed(value)
        return None

    def _add_call(self, part: Fields, name: str) -> None:
        call_id, state = part.required_text("toolCallId"), part.text("state")
        if state == _UNWRITTEN:
            return
        given = part.get("input")
        if given is None and state == "output-error":
            given = part.get("rawInput")  # what the model wrote, if it is no input of the tool
        opaque = self._opaque_of(part, _CALL_METADATA)
        self._content.add_call(made_call(call_id, name, given, opaque=opaque))
        match state:
            case "output-available" if part.get("preliminary") is not True:
                self._add_result(call_id, text_of(part.get("output")))
            case "output-error":
                self._add_result(call_id, part.text("errorText") or "", is_error=True)
            case "output-denied":
                self._add_result(call_id, _DENIED, is_error=True)
            case "approval-responded":
                self.answers.append(_answer(part.within("approval"), call_id))

    def _add_result(self, call_id: str, text: str, *, is_error: bool = False) -> None:
        self._results.append(made_message("tool", text, tool_call_id=call_id, is_error=is_error))

    def _end_step(self) -> None:
        content, calls = self._content.content(), self._content.calls
        if content is not None or calls:
            message_id = None if self._done else self._id
            self._done.append(made_message(self._role, content, id=message_id, tool_calls=calls))
        self._done += self._results
        self._content, self._results = TurnContent(), []


def _answer(approval: Fields, call_id: str) -> Answer:
    approved = approval.boolean("approved")
    answer: Answer = {
        "interaction_id": call_id,
        "action": "approve" if approved else "reject",
        "resume": {"approvalId": approval.text("id") or call_id},
    }
    reason = approval.text("reason")
    return {**answer, "value": reason} if reason else answer
