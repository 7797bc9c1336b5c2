"""A request for one upstream, as its writer sees it.

Source: the request contract, sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from streamweir.jsontext import write_json_text
from streamweir.requests.canonical import LOSSES, Answer, Message, Part, Request
from streamweir.requests.errors import RequestError
from streamweir.requests.inline_history import InlineText, inline_text
from streamweir.requests.messages import files_of, last_user_index, text_of_message, turn_start
from streamweir.requests.written import NOTHING

__all__ = ["Outgoing", "answer_text"]

_MEANS: Final[Mapping[str, tuple[str, ...]]] = {
    "url": ("url", "base64"),
    "remote": ("url",),
    "bytes": ("base64",),
    "none": (),
    "any": ("url", "base64", "file_id"),
}


class Outgoing:
    """The canonical request with the facts of one upstream.

    Attributes:
        request: the canonical request.
        path: the path of the upstream, without a query.
        options: the options of the dialect.
        overlay: the tree that the configuration lays over the body. Writers may need its values elsewhere.
        thread_id: the upstream's id of the conversation; None if the upstream does not know it.
        extra: fields of the client's body without a canonical place, if the client speaks this dialect.
        lost: the names of fields that the upstream cannot take. Writers add to it with `lose`.
        unused: the sampling parameters that the writer has not read with `parameters`.

    Args:
        request: see the attribute.
        path: see the attribute.
        options: see the attribute.
        overlay: see the attribute.
        thread_id: see the attribute.
        extra: see the attribute.
        keeps_history: put earlier turns into the text if the upstream does not know them.
        new_id: returns a new id.
    """

    def __init__(  # noqa: PLR0913 (one keyword for each thing that a writer may ask for)
        self,
        request: Request,
        *,
        path: str = "",
        options: Mapping[str, Any] = NOTHING,
        overlay: Mapping[str, Any] = NOTHING,
        thread_id: str | None = None,
        extra: Mapping[str, Any] = NOTHING,
        keeps_history: bool = True,
        new_id: Callable[[], str],
    ) -> None:
        self.request: Final = request
        self.path: Final = path
        self.options: Final = options
        self.overlay: Final = overlay
        self.thread_id: Final = thread_id
        self.extra: Final = extra
        self.lost: Final[set[str]] = set()
        self.unused: Final = {*request.get("parameters", NOTHING)}
        self.new_id: Final = new_id
        self._keeps_history = keeps_history

    def lose(self, name: str) -> None:
        """Note that the upstream cannot take a field, which is one of `LOSSES`."""
        if name not in LOSSES:
            raise ValueError(f"{name!r} is nothing that a client is shown as lost")
        self.lost.add(name)

    # The conversation

    @property
    def messages(self) -> Sequence[Message]:
        """All messages, oldest first."""
        return self.request.get("messages", [])

    @cached_property
    def new_messages(self) -> Sequence[Message]:
        """The messages that the upstream does not know; all of them if it does not know the conversation."""
        messages = self.messages
        return messages if self.thread_id is None else messages[turn_start(messages) :] or messages[-1:]

    @cached_property
    def text(self) -> str:
        """The user's last text, preceded by the earlier turns if the upstream does not know them."""
        return self._text_of(self.messages)

    @cached_property
    def text_beside_system(self) -> str:
        """`text` without the system's texts, for upstreams with a separate field for them."""
        return self._text_of([message for message in self.messages if message["role"] != "system"])

    def _text_of(self, messages: Sequence[Message]) -> str:
        written: InlineText = inline_text(
            messages, knows_thread=self.thread_id is not None, keeps_history=self._keeps_history
        )
        self.lost.update(written.lost)
        return written.text

    def files(self, means: str = "url") -> list[Part]:
        """Return the files of the user's last message that the upstream can take; the others count as lost.

        Args:
            means: which files it takes: `url` those with a URL or bytes, `remote` those with a URL, `bytes`
                those with bytes, `any` those with an id too, `none` no files.
        """
        at = last_user_index(self.messages)
        own = [] if at is None else files_of(self.messages[at])
        others = self.messages if self.thread_id is None else self.messages[turn_start(self.messages) :]
        found = [part for part in own if any(key in part for key in _MEANS[means])]
        if len(found) < len(own) or sum(len(files_of(message)) for message in others) > len(own):
            self.lose("files")
        return found

    @property
    def system(self) -> str:
        """The system's texts, separated by empty lines."""
        texts = [text_of_message(message) for message in self.messages if message["role"] == "system"]
        return "\n\n".join(filter(None, texts))

    # Fields

    @property
    def user(self) -> str | None:
        """The client's name for its user."""
        return self.request.get("user")

    def parameters(self, *names: str) -> dict[str, Any]:
        """Return those of the named sampling parameters that the client gave."""
        self.unused.difference_update(names)
        given = self.request.get("parameters", NOTHING)
        return {name: given[name] for name in names if name in given}

    @property
    def inputs(self) -> Mapping[str, Any]:
        """The named inputs; empty if there are none."""
        return self.request.get("inputs", NOTHING)

    # Answers

    @property
    def answers(self) -> Sequence[Answer]:
        """The answers to interactions. A request with answers asks no new question."""
        return self.request.get("resume", [])

    def held(self, answer: Answer) -> Mapping[str, Any]:
        """Return the `resume` of the interaction that is answered.

        Raises:
            RequestError: the answer has none.
        """
        held = answer.get("resume")
        if not isinstance(held, dict):
            raise RequestError("answers an interaction that is not known here", field="resume")
        return held

    def cannot_answer(self) -> RequestError:
        """Return the error for an answer that the upstream cannot take."""
        return RequestError("is an answer that this service cannot take", field="resume")


def answer_text(value: Any) -> str:
    """Return the value of an answer as text: JSON if it is no text, empty if it is None."""
    if value is None:
        return ""
    return value if isinstance(value, str) else write_json_text(value)
