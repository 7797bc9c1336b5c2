"""The fields of a request that decide whether a response is stored, continued or made in the background.

Source: the conversation contract, section 5; the Responses API (2026), `responses.create`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from streamweir.http.refusals import Refusal
from streamweir.jsontext import write_json
from streamweir.requests.fields import Fields

__all__ = ["AskedResponse", "response_not_found", "unsupported_background"]

_PREVIOUS: Final = "previous_response_id"
_CONVERSATION: Final = "conversation"
_BACKGROUND: Final = "background"
_INPUT: Final = "input"


class AskedResponse(NamedTuple):
    """The fields of one request.

    Attributes:
        body: the body of the request.
        previous: the id of the response that the request continues; None: no response.
        stores: whether the response may be stored; the request does not say `store: false`.
        is_background: whether the response is made without a connection to its client.
    """

    body: Mapping[str, Any]
    previous: str | None
    stores: bool
    is_background: bool

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> AskedResponse:
        """Return the fields of a request.

        Raises:
            RequestError: a field has a wrong type.
        """
        fields = Fields(body)
        return cls(
            body,
            fields.text(_PREVIOUS) or None,
            fields.boolean("store") is not False,
            fields.boolean(_BACKGROUND) is True,
        )

    def check_conversation(self) -> None:
        """Refuse a request that continues a response and a conversation at the same time.

        Raises:
            Refusal: the request continues both.
        """
        if self.previous is not None and self.body.get(_CONVERSATION) is not None:
            raise Refusal(
                "BAD_REQUEST",
                "A request names either `previous_response_id` or `conversation`, not both.",
                error={"param": _CONVERSATION, "code": "mutually_exclusive_parameters"},
            )

    @property
    def items(self) -> list[Any]:
        """The items of the request's own input. A text becomes a message of the user."""
        given = self.body.get(_INPUT)
        if isinstance(given, str):
            return [{"type": "message", "role": "user", "content": given}]
        return [*given] if isinstance(given, list) else []

    def behind(self, history: Sequence[Any]) -> bytes:
        """Return the body with `history` before its own input, and without the ids of earlier responses.

        Args:
            history: the items that precede the body's own input.
        """
        body = {name: value for name, value in self.body.items() if name not in (_PREVIOUS, _BACKGROUND)}
        if history:
            body[_INPUT] = [*history, *self.items]
        return write_json(body)


def response_not_found() -> Refusal:
    """Return the refusal of a request to continue a response that is unknown under the client's key."""
    return Refusal(
        "BAD_REQUEST",
        "The response named in `previous_response_id` was not found.",
        error={"param": _PREVIOUS, "code": "previous_response_not_found"},
    )


def unsupported_background() -> Refusal:
    """Return the refusal of a background response, at an endpoint that does not keep runs or responses."""
    return Refusal(
        "BAD_REQUEST",
        "`background` needs an endpoint with `resume`, and a request without `store: false`.",
        error={"param": _BACKGROUND, "code": "unsupported_parameter"},
    )
