"""The stored form of one response.

Source: the conversation contract, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from streamweir.jsontext import write_json
from streamweir.optional_json import json_or
from streamweir_gateway.requests.conversation import Conversation
from streamweir_gateway.responses.ancestors import NO_ANCESTORS, Ancestors

__all__ = ["PREFIX", "KeptResponse"]

PREFIX: Final = "resp_"
"""The prefix of the ids of all responses that the gateway makes."""


@dataclass(frozen=True, slots=True)
class KeptResponse:
    """One response, with the request that it answers.

    Attributes:
        response: the response object that the client got.
        input: the items of the request's own input.
        ancestors: the responses that this response continues.
        upstream: the identity of the upstream that made the response; None if it has no conversations.
        thread: the upstream's name for the conversation; None if it has no conversations.
        is_running: whether it was stored before its end; the run of the same name has the rest.
    """

    response: dict[str, Any]
    input: list[Any] = field(default_factory=list)
    ancestors: Ancestors = NO_ANCESTORS
    upstream: str | None = None
    thread: str | None = None
    is_running: bool = False

    @property
    def id(self) -> str:
        """The id of the response."""
        return str(self.response["id"])

    @property
    def items(self) -> list[Any]:
        """The items of the input and the output, which precede the input of a response that follows."""
        output = self.response.get("output")
        return [*self.input, *(output if isinstance(output, list) else [])]

    @property
    def conversation(self) -> Conversation | None:
        """The conversation at the upstream that made the response; None if it keeps no conversations."""
        if self.upstream is None or not self.thread:
            return None
        return Conversation(self.upstream, self.thread)

    def written(self) -> bytes:
        """Return the response as a value for the store."""
        return write_json(
            {
                "response": self.response,
                "input": self.input,
                "ancestors": self.ancestors.written(),
                "upstream": self.upstream,
                "thread": self.thread,
                "running": self.is_running,
            }
        )

    @classmethod
    def read(
        cls, value: bytes | None, response_id: str, *, with_ancestors: bool = True
    ) -> KeptResponse | None:
        """Return the response in a value of the store; None if the value is not a response.

        Args:
            value: the value of the store, which is not trusted.
            response_id: the id of the response.
            with_ancestors: False leaves the ancestors out, because a long history needs only the items of its
                responses.
        """
        match json_or(value or b""):
            case {
                "response": {"id": str(own)} as response,
                "input": list(items),
                "ancestors": ancestors,
                "upstream": str() | None as upstream,
                "thread": str() | None as thread,
                "running": bool(is_running),
            } if own == response_id:
                before = Ancestors.read(ancestors) if with_ancestors else NO_ANCESTORS
                return cls(response, items, before, upstream, thread, is_running)
        return None
