"""Reads a folded result for chat protocols: which side runs each call, the open questions, and the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from streamweir.codec.finish import CUT_SHORT, finish_with_calls
from streamweir.codec.questions import asks_person, question_text
from streamweir.codec.standard_events import read_standard
from streamweir.codec.suspension import SUSPENSION
from streamweir.events import Interaction, Opaque
from streamweir.jsontext import write_json_text

__all__ = [
    "HasForm",
    "Part",
    "argument_text",
    "citations",
    "client_calls",
    "finish_reason",
    "parts_of_turn",
    "suspension_of",
    "text_of_turn",
]

HasForm = Callable[[Mapping[str, Any]], bool]
"""Returns whether a protocol has its own form for a question, given the `data` of the question's event."""

_EMPTY_LINE: Final = "\n\n"


class Part(NamedTuple):
    """One part of a whole answer.

    Attributes:
        kind: `text` and `thinking` have a text; `ran` (a call that has been run) and `client` (a call that
            the client is to run) have a folded call; `asked` has the `data` of a question.
        opaque: the opaque values of a text; for a call they are in the folded call.
        server: the label of the server that runs the call that a question is about; None if unknown.
    """

    kind: str
    text: str = ""
    call: Mapping[str, Any] = {}
    opaque: Opaque | None = None
    server: str | None = None


def parts_of_turn(
    folded: Mapping[str, Any], *, with_tools: bool = True, has_form: HasForm | None = None
) -> list[Part]:
    """Return the parts of a whole answer in the order of the stream.

    Consecutive texts are one part, unless one of them has an opaque value. A further message begins with an
    empty line, because clients join the texts; thinking with an opaque value is not changed. If the order is
    not known, thinking comes first, then calls that have been run, text, calls for the client.

    Args:
        folded: the folded result, with its `order`.
        with_tools: if False, calls that have been run are left out.
        has_form: returns whether the protocol has its own form for an open question, given the `data` of its
            event; other questions become texts.
    """
    order = folded.get("order")
    asked = [*filter(has_form, _open_questions(folded))] if has_form else []
    found = _fixed_order(folded, asked) if order is None else _stream_order(folded, order, asked)
    return [*_joined(part for part in found if with_tools or part.kind != "ran")]


def _joined(found: Iterable[Part]) -> Iterator[Part]:
    """Yield the parts, consecutive texts of one kind without opaque values as one."""
    last: Part | None = None
    texts: list[str] = []
    for part in found:
        if last is not None and last.kind == part.kind and part.text and last.opaque is part.opaque is None:
            texts.append(part.text)
            continue
        if last is not None:
            yield last._replace(text="".join(texts))
        last, texts = part, [part.text]
    if last is not None:
        yield last._replace(text="".join(texts))


def _fixed_order(folded: Mapping[str, Any], asked: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    message = folded["message"]
    if message["thinking"]:
        yield Part("thinking", message["thinking"])
    yield from (Part("ran", call=call) for call in message["tool_calls"] if call["status"] != "running")
    if text := text_of_turn(folded, but=asked):
        yield Part("text", text)
    yield from (Part("asked", call=data) for data in asked)
    yield from (Part("client", call=call) for call in client_calls(folded))


def _stream_order(
    folded: Mapping[str, Any], order: list[Mapping[str, Any]], asked: Sequence[Mapping[str, Any]]
) -> Iterator[Part]:
    calls, interactions = folded["message"]["tool_calls"], folded["message"]["interactions"]
    for_client = {call["tool_id"] for call in client_calls(folded)}
    with_form = {*map(id, asked)}
    last: dict[str, Any] = {}
    servers: dict[str, str] = {}
    for entry in order:
        if server := entry.get("server"):
            servers[calls[entry["number"]]["tool_id"]] = server
        match entry["kind"]:
            case "text" | "thinking" as kind:
                text, message, opaque = entry["text"], entry["message"], entry.get("opaque")
                if text:
                    is_exact = kind == "thinking" and opaque is not None
                    gap = "" if is_exact or last.get(kind, message) == message else _EMPTY_LINE
                    text, last[kind] = gap + text, message
                yield Part(kind, text, opaque=opaque)
            case "question" if id(data := interactions[entry["number"]]) in with_form:
                yield Part("asked", call=data, server=servers.get(data["interaction_id"]))
            case "question" if question := _question(interactions[entry["number"]]):
                yield Part("text", _EMPTY_LINE + question if "text" in last else question)
                last["text"] = "question"
            case "ended" if (call := calls[entry["number"]])["status"] != "running":
                yield Part("ran", call=call)
            case "started" if (call := calls[entry["number"]])["tool_id"] in for_client:
                if call["status"] == "running":
                    yield Part("client", call=call)


def _question(data: Mapping[str, Any]) -> str:
    event = read_standard({"type": "interaction", "data": data, "metadata": {}})
    return question_text(event) if isinstance(event, Interaction) and asks_person(event) else ""


def client_calls(folded: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the calls that the client is to run."""
    requested = {
        asked["interaction_id"]
        for asked in folded["message"]["interactions"]
        if asked["kind"] == "tool" and asked["state"] == "requested"
    }
    calls = folded["message"]["tool_calls"]
    return [call for call in calls if call["tool_id"] in requested and call["status"] == "running"]


def argument_text(call: Mapping[str, Any]) -> str:
    """Return the arguments of a folded call as text: the upstream's own text, if it is known."""
    text = call.get("arguments_text")
    return write_json_text(call["arguments"]) if text is None else str(text)


def citations(folded: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all sources that the answer relies on."""
    return [citation for event in folded["message"]["references"] for citation in event["citations"]]


def suspension_of(folded: Mapping[str, Any], *, has_form: HasForm | None = None) -> dict[str, Any]:
    """Return an object with the field that reports that the run waits for a person; an empty object if the
    run does not wait.

    Args:
        folded: the folded result.
        has_form: as in `parts_of_turn`; a question with a form is not listed in the field.
    """
    asked = _open_questions(folded)
    others = [data for data in asked if not (has_form and has_form(data))]
    if folded["status"] != "suspended" or client_calls(folded) or (asked and not others):
        return {}
    return {SUSPENSION: {"status": "suspended", "interactions": others}}


def _open_questions(folded: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the questions to a person that are neither answered nor withdrawn."""
    found: dict[str, dict[str, Any]] = {}
    for data in folded["message"]["interactions"]:
        if data["kind"] != "tool":
            found[data["interaction_id"]] = data
    return [data for data in found.values() if data["state"] == "requested"]


def text_of_turn(folded: Mapping[str, Any], *, but: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the texts of all channels, one channel after the other, then the questions to a person.

    Args:
        folded: the folded result.
        but: the questions to leave out.
    """
    message = folded["message"]
    texts = [message["content"], *message.get("channels", {}).values()]
    left_out = {*map(id, but)}
    texts += (_question(data) for data in message["interactions"] if id(data) not in left_out)
    return "\n\n".join(text for text in texts if text)


def finish_reason(folded: Mapping[str, Any]) -> str:
    """Return why the turn has ended, as the standard's `finish_reason`."""
    reason = (folded["summary"] or {}).get("finish_reason")
    if client_calls(folded):
        return finish_with_calls(reason)
    return str(reason) if reason in CUT_SHORT else "stop"
