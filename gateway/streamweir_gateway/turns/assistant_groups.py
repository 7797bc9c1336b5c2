"""Groups the assistant's messages of a request that may be one kept turn: one message, or several."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from streamweir.jsontext import parse_json, write_json
from streamweir.requests.canonical import Message
from streamweir.requests.messages import last_user_index, text_of_message
from streamweir.requests.opaque_values import FIELD, OpaqueValues
from streamweir_gateway.turns.stored_turn import StoredTurn, text_digests

__all__ = [
    "AssistantGroup",
    "are_within",
    "groups_of",
    "have_texts",
    "joined_group",
    "strings_in",
    "text_of_last_question",
]


_ASKED: Final = ("user", "system")
_JOINT: Final = "\n\n"
"""The separator by which clients join two texts of a turn to one text."""

_WORDS: Final = (FIELD, "type", "format", "id")
"""Fields of opaque values that contain no part of the model's reasoning."""

_BETWEEN: Final = "\0\n\0"


class AssistantGroup(NamedTuple):
    """Messages of the assistant that follow each other; only results of tools are between them.

    Attributes:
        begin: the index of the first message.
        end: the index after the last message.
        messages: all messages of the group.
        asked: the text of the user's last message before the group.
    """

    begin: int
    end: int
    messages: Sequence[Message]
    asked: str

    def is_first(self, messages: Sequence[Message]) -> bool:
        """Return whether a turn can only begin here, directly after a message of the user or the system.

        Args:
            messages: the messages of the request.
        """
        return not self.begin or messages[self.begin - 1]["role"] in _ASKED

    @property
    def calls(self) -> list[Any]:
        """The calls of all messages."""
        return [call for message in self.messages for call in message.get("tool_calls", [])]

    @property
    def texts(self) -> list[str]:
        """The texts of all messages, one for each part."""
        return [text for message in self.messages for text in _texts(message)]

    def has_texts_of(self, message: bytes) -> bool:
        """Return whether all paragraphs of the texts occur in a message.

        Clients may have joined several texts of the message to one, so paragraphs are compared.

        Args:
            message: the upstream's message, as JSON.
        """
        paragraphs = [part for text in self.texts for part in text.split(_JOINT) if part]
        return bool(paragraphs) and have_texts(message, paragraphs)

    @property
    def holds_opaque(self) -> bool:
        """Whether a part or a call has an opaque value, of any upstream."""
        return any("opaque" in item for item in self._items)

    def opaque_values(self, opaque: OpaqueValues) -> list[Mapping[str, Any]]:
        """Return one upstream's values that the client has sent back; `opaque` finds them."""
        return [value for item in self._items if (value := opaque.of(item)) is not None]

    @property
    def _items(self) -> Iterator[Any]:
        for message in self.messages:
            content = message.get("content")
            yield from content if isinstance(content, list) else ()
            yield from message.get("tool_calls", ())

    def is_turn(self, turn: StoredTurn) -> bool:
        """Return whether the messages are this turn: their calls are equal or, without calls, their texts.

        A call that the upstream has run itself may be missing, because some protocols do not show such calls.
        """
        calls = self.calls
        own = {call["id"]: call for call in calls}
        known = {call.client_id: call for call in turn.calls}
        if len(own) < len(calls) or not own.keys() <= known.keys():
            return False
        for call_id, call in known.items():
            sent = own.get(call_id)
            if sent is None and not call.is_executed:
                return False
            if sent is not None and sent["name"] != call.name:
                return False
            if sent is not None and not call.has_arguments(sent["arguments"]):
                return False
        if all(call.is_executed for call in turn.calls):
            return not {*text_digests(self.texts)}.isdisjoint(turn.texts)
        return True


def groups_of(messages: Sequence[Message]) -> list[AssistantGroup]:
    """Return one group for each message of the assistant, oldest first."""
    groups: list[AssistantGroup] = []
    asked: Message | None = None
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            text = "" if asked is None else text_of_message(asked)
            groups.append(AssistantGroup(index, index + 1, [message], text))
        elif message["role"] == "user":
            asked = message
    return groups


def joined_group(before: AssistantGroup, group: AssistantGroup) -> AssistantGroup:
    """Return two neighbouring groups joined to one."""
    return group._replace(begin=before.begin, messages=[*before.messages, *group.messages])


def are_within(values: Iterable[Mapping[str, Any]], message: bytes) -> bool:
    """Return whether all texts in the opaque values occur in a message, which is JSON.

    The field names, types and formats of the texts are not compared: clients may send a text back in another
    field, and libraries that join the pieces of an entry join its format as well.
    """
    return have_texts(message, strings_in(values, but=_WORDS))


def have_texts(message: bytes, texts: Iterable[str]) -> bool:
    """Return whether each text is a part of a string in a message, which is JSON.

    Args:
        message: the message, in which any character may be escaped.
        texts: the texts.
    """
    missed = [text for text in texts if write_json(text)[1:-1] not in message]
    if not missed or b"\\" not in message:
        return not missed
    strings = _BETWEEN.join(strings_in([parse_json(message)[0]]))
    return all(text in strings for text in missed)


def strings_in(values: Iterable[Any], *, but: Collection[str] = ()) -> Iterator[str]:
    """Yield all texts in JSON values; names of fields are left out.

    Args:
        values: the JSON values.
        but: the names of fields whose values are left out.
    """
    left: list[Any] = [*values]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            left += (item for name, item in value.items() if name not in but)
        elif isinstance(value, list):
            left += value
        elif isinstance(value, str):
            yield value


def text_of_last_question(messages: Sequence[Message]) -> str:
    """Return the text of the user's last message; empty without one."""
    at = last_user_index(messages)
    return "" if at is None else text_of_message(messages[at])


def _texts(message: Message) -> Iterator[str]:
    content = message.get("content", "")
    if isinstance(content, str):
        if content:
            yield content
        return
    for part in content:
        if part["type"] == "text" and part["text"]:
            yield part["text"]
