"""Reads and writes requests of Data Formulator's pages: one form of body for each endpoint.

Source: microsoft/data-formulator 0.7.0 and 0.8.0b1, pages and routes; the request contract, sections 3 to 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamweir.dialects.data_formulator.shared_vocabulary import ENDPOINT_OF_PATH
from streamweir.requests.canonical import Answer, Part, Request
from streamweir.requests.canonical_reader import add_files, add_message, made_request
from streamweir.requests.fields import Fields
from streamweir.requests.media import file_part, url_of
from streamweir.requests.messages import files_of, read_messages, role_and_text, text_of_message
from streamweir.requests.outgoing import Outgoing, answer_text
from streamweir.requests.sides import RequestReader, RequestWriter
from streamweir.requests.written import Written, without_absent

__all__ = ["READER", "WRITER"]

_QUESTION: Final = "user_question"
_IMAGES: Final = "attached_images"
_QUESTION_FIELDS: Final[Mapping[str, str]] = {
    "agent": _QUESTION,
    "analyst": _QUESTION,
    "report": "user_prompt",
    "questions": "start_question",
}
"""The name of the question's field, by endpoint."""

_STATE: Final = ("trajectory", "completed_step_count")
_QUESTION_NAME: Final = re.compile(r"(?:question_)?(\d{1,3})")
"""The name under which a form (`form_schema`) returns the answer to a question."""


def _read(fields: Fields) -> Request:
    messages = read_messages(fields)
    texts = [fields.text(name) for name in (_QUESTION, "user_prompt", "start_question")]
    question = next(filter(None, texts), None)
    answers = []
    if "trajectory" in fields:
        held = without_absent(
            trajectory=fields.sequence("trajectory"), completed_step_count=fields.number(_STATE[1])
        )
        answers = [without_absent(interaction_id="", action="submit", value=question, resume=held)]
    else:
        add_message(messages, question)
        add_files(messages, [*_images(fields)])
    return made_request(messages=messages, resume=answers, inputs=fields.rest())


def _images(fields: Fields) -> Iterator[Part]:
    for image in fields.texts(_IMAGES):
        if not image:
            raise fields.error(_IMAGES, "a list of URLs")
        yield file_part("image", url=image)


def _write(outgoing: Outgoing) -> Written:
    endpoint = ENDPOINT_OF_PATH.get(outgoing.path.rstrip("/").rpartition("/")[2], "agent")
    inputs = outgoing.inputs
    if outgoing.answers:
        return Written({**inputs, **_answered(outgoing)})
    if endpoint == "loading":
        return Written({**inputs, "messages": _messages(outgoing)})
    name = _QUESTION_FIELDS[endpoint]
    if name != _QUESTION:
        if any(map(files_of, outgoing.messages)):
            outgoing.lose("files")
        return Written({**inputs, **({name: outgoing.text} if outgoing.text else {})})
    images = [url_of(part) for part in outgoing.files() if part["type"] == "image"]
    if any(part["type"] != "image" for part in outgoing.files()):
        outgoing.lose("files")
    return Written({**inputs, **without_absent(user_question=outgoing.text, attached_images=images)})


def _messages(outgoing: Outgoing) -> list[dict[str, str]]:
    """Return the conversation as texts; tool results become part of the user's texts."""
    if any(map(files_of, outgoing.messages)):
        outgoing.lose("files")
    return [role_and_text(message) for message in outgoing.messages if text_of_message(message)]


def _answered(outgoing: Outgoing) -> dict[str, Any]:
    """Return the state that arrived with the question, and the answers; several become numbered lines."""
    if any(answer["action"] in ("cancel", "reject") for answer in outgoing.answers):
        raise outgoing.cannot_answer()
    held = outgoing.held(outgoing.answers[0])
    return {**{name: held[name] for name in _STATE if name in held}, _QUESTION: _reply(outgoing.answers)}


def _reply(answers: Sequence[Answer]) -> str:
    """Return the answers in the page's form: `1. first; 2. second`, and free text on the next line."""
    numbered: dict[int, str] = {}
    free: list[str] = []
    is_structured = any(isinstance(answer.get("value"), dict | list) for answer in answers)
    for answer in answers:
        value = answer.get("value")
        if isinstance(value, dict | list):
            own, others = _numbered(value, len(numbered))
            numbered |= own
            free += others
        elif text := answer_text(value) or ("yes" if answer["action"] == "approve" else ""):
            if is_structured:
                free.append(text)
            else:
                numbered[len(numbered) + 1] = text
    if [*numbered] == [1] and not free:
        return numbered[1]
    line = "; ".join(f"{number}. {text}" for number, text in sorted(numbered.items()))
    return "\n".join(filter(None, [line, *free]))


def _numbered(value: Mapping[str, Any] | Sequence[Any], before: int) -> tuple[dict[int, str], list[str]]:
    """Return the answers by the numbers of their questions, and the remaining text."""
    if not isinstance(value, Mapping):
        texts = [answer_text(item) for item in value]
        return {before + number: text for number, text in enumerate(texts, 1) if text}, []
    texts_of = {name: answer_text(item) for name, item in value.items()}
    known = {name: int(found[1]) for name in texts_of if (found := _QUESTION_NAME.fullmatch(name))}
    if not known:
        return {before + number: text for number, text in enumerate(texts_of.values(), 1) if text}, []
    own = {known[name]: text for name, text in texts_of.items() if name in known and text}
    return own, [text for name, text in texts_of.items() if name not in known and text]


READER: Final = RequestReader(
    _read,
    has_resume=True,
    keeps_extra=False,
    asks_by_inputs=frozenset({"input_tables"}),
    field_names={"message": "user_question"},
)
"""Reads the requests; `get-recommendation-questions` is called with nothing but tables."""
WRITER: Final = RequestWriter(_write, takes=frozenset({"files", "inputs"}))
