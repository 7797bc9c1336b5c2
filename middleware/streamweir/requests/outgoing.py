"""A request on its way to an upstream, in the form that a writer gets.

Source: the request contract, sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from streamweir.jsontext import write_json_text
from streamweir.requests.canonical import LOSSES, Answer, Message, Part, Request, ToolCall
from streamweir.requests.errors import RequestError
from streamweir.requests.inline_history import InlineText, inline_text
from streamweir.requests.messages import files_of, last_user_index, text_of_message, turn_start
from streamweir.requests.opaque_values import OpaqueValues
from streamweir.requests.written import NOTHING

__all__ = ["Outgoing", "answer_text"]

_MEANS: Final[Mapping[str, tuple[str, ...]]] = {
    "url": ("url", "base64"),
    "remote": ("url",),
    "bytes": ("base64",),
    "none": (),
    "any": ("url", "base64", "file_id"),
}


class Outgoing(msgspec.Struct, kw_only=True, eq=False):
    """The canonical request, and the part of it that the upstream can take.

    Attributes:
        request: the canonical request.
        path: the path of the upstream, without a query.
        options: the options of the dialect.
        overlay: the configuration's tree that is laid over the body, for writers that need a part elsewhere.
        thread_id: the upstream's id of the conversation; None: the upstream does not know the conversation.
        extra: fields that no rule reads, if the client speaks the same dialect.
        keeps_history: earlier turns go into the text for an upstream that does not know them.
        opaque: finds the opaque values that the upstream made.
        new_id: returns a new id.
        lost: the parts that have no place at the upstream.
        used: the sampling parameters that have a place at the upstream.
    """

    request: Request
    path: str = ""
    options: Mapping[str, Any] = NOTHING
    overlay: Mapping[str, Any] = NOTHING
    thread_id: str | None = None
    extra: Mapping[str, Any] = NOTHING
    keeps_history: bool = True
    opaque: OpaqueValues
    new_id: Callable[[], str]
    lost: set[str] = set()
    used: set[str] = set()
    _text: str | None = None

    def lose(self, name: str) -> None:
        """Note that a part of the request, one of `LOSSES`, cannot be sent to the upstream."""
        if name not in LOSSES:
            raise ValueError(f"{name!r} is nothing that a client is shown as lost")
        self.lost.add(name)

    def forget_thread(self) -> None:
        """Note that the upstream keeps no conversations at this path; to be called first."""
        self.thread_id = None

    # The upstream's own values

    @property
    def dialect(self) -> str:
        """The name of the upstream's dialect; empty if unknown."""
        return self.opaque.dialect

    @property
    def upstream(self) -> str:
        """The upstream's name in the configuration, or its URL; empty if unknown."""
        return self.opaque.upstream

    def opaque_of(self, item: Part | ToolCall) -> Mapping[str, Any] | None:
        """Return the opaque value that belongs to a part or a call, if this upstream made it; else None."""
        return self.opaque.of(item)

    def is_own(self, message: Message) -> bool:
        """Return whether this upstream made a message, and so gave its calls their ids."""
        return self.opaque.made(message)

    # The conversation

    @property
    def messages(self) -> Sequence[Message]:
        """All messages, oldest first."""
        return self.request.get("messages", [])

    @property
    def new_messages(self) -> Sequence[Message]:
        """The messages that the upstream does not know: all, if it does not know the conversation."""
        messages = self.messages
        return messages if self.thread_id is None else messages[turn_start(messages) :] or messages[-1:]

    @property
    def text(self) -> str:
        """The user's last text, preceded by the system prompt and the history if these are not taken."""
        if self._text is None:
            self._text = self._text_of(self.request.get("messages", []))
        return self._text

    @property
    def text_beside_system(self) -> str:
        """The same as `text`, but without the system prompt, which the upstream takes in another field."""
        return self._text_of([message for message in self.messages if message["role"] != "system"])

    def _text_of(self, messages: Sequence[Message]) -> str:
        if len(messages) == 1 and messages[0]["role"] == "user":  # nothing that goes before it
            return text_of_message(messages[0])
        written: InlineText = inline_text(
            messages, knows_thread=self.thread_id is not None, keeps_history=self.keeps_history
        )
        self.lost.update(written.lost)
        return written.text

    def files(self, means: str = "url") -> list[Part]:
        """Return the files of the user's last message that can be handed over.

        Args:
            means: the form of files that the upstream takes: `url`: a URL or bytes; `remote`: only a URL;
                `bytes`: only bytes; `any`: a URL, bytes or an id; `none`: no files.
        """
        messages = self.request.get("messages", [])
        if len(messages) == 1 and isinstance(messages[0].get("content"), str):
            return []
        at = last_user_index(messages)
        own = [] if at is None else files_of(messages[at])
        found = [part for part in own if any(key in part for key in _MEANS[means])]
        first = 0 if self.thread_id is None else turn_start(messages)
        others = (message for index, message in enumerate(messages[first:], first) if index != at)
        if len(found) < len(own) or any(map(files_of, others)):
            self.lose("files")
        return found

    @property
    def system(self) -> str:
        """The system texts, separated by line ends; files among them are lost."""
        found = [message for message in self.messages if message["role"] == "system"]
        if any(map(files_of, found)):
            self.lose("files")
        texts = map(text_of_message, found)
        return "\n\n".join(filter(None, texts))

    # Fields

    @property
    def user(self) -> str | None:
        """The user's id that the client gave; None if it gave none."""
        return self.request.get("user")

    def parameters(self, *names: str) -> dict[str, Any]:
        """Return the sampling parameters with these names that the client gave."""
        self.used.update(names)
        given = self.request.get("parameters", NOTHING)
        return {name: given[name] for name in names if name in given}

    @property
    def inputs(self) -> Mapping[str, Any]:
        """The named inputs; empty if there are none."""
        return self.request.get("inputs", NOTHING)

    # Answers

    @property
    def answers(self) -> Sequence[Answer]:
        """The answers to interactions; if there is one, the request has no new question."""
        return self.request.get("resume", [])

    def held(self, answer: Answer) -> Mapping[str, Any]:
        """Return the `resume` of the interaction that is answered.

        Raises:
            RequestError: the `resume` is empty.
        """
        held = answer.get("resume")
        if not isinstance(held, dict):
            raise RequestError("answers an interaction that is not known here", field="resume")
        return held

    def cannot_answer(self) -> RequestError:
        """Return the error for an answer that the upstream cannot take."""
        return RequestError("is an answer that this service cannot take", field="resume")


def answer_text(value: Any) -> str:
    """Return the value of an answer as text: texts unchanged, None as empty text, else JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else write_json_text(value)
