"""Names and values in a client's request that the client expects to read again in the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

__all__ = ["NO_NAMES", "ClientNames", "client_names"]

_LONGEST: Final = 256


class ClientNames(NamedTuple):
    """The names that the client uses in its request; None for each name that is missing.

    Attributes:
        model: the model that the client asks for.
        thread: the conversation.
        run: the answer to this request.
        betas: the beta features of the API that the client knows, separated by commas.
        secret: the secret that makes the ids under which the client answers (`answer_ids`); None: the client
            answers under the upstream's ids. The gateway makes it, not the client, but like these names it
            has to be equal for all readers of a stored run.
        hides_usage: whether the gateway has asked the upstream for the usage although the client has not.
        is_listed: whether the model is a name that an endpoint lists. If so, the answer has this name, even
            if the upstream names another model.
        echo: the fields of the request that the answer repeats (`Encoder.echoed_fields`), with the values
            that the client gave. An endpoint that decides one of them replaces the value.
        answer_id: the id of the answer, chosen by an endpoint that keeps answers; None: the encoder makes it.
    """

    model: str | None = None
    thread: str | None = None
    run: str | None = None
    betas: str | None = None
    secret: str | None = None
    hides_usage: bool = False
    is_listed: bool = False
    echo: dict[str, Any] | None = None
    answer_id: str | None = None


NO_NAMES: Final = ClientNames()


def client_names(
    request: Mapping[str, Any], fields: Mapping[str, str], echoed: Sequence[str] = ()
) -> ClientNames:
    """Return the names in a request, and the values that the answer repeats.

    Args:
        request: the JSON object in the body of the request.
        fields: for each attribute of `ClientNames`, the field of the request that holds it.
        echoed: the fields whose values the answer repeats; a null field counts as absent.
    """
    found = {name: _text_of(request.get(field)) for name, field in fields.items()}
    known: dict[str, Any] = {
        name: text for name, text in found.items() if isinstance(text, str) and 0 < len(text) <= _LONGEST
    }
    echo = {name: value for name in echoed if (value := request.get(name)) is not None}
    return ClientNames(**known, echo=echo or None)


def _text_of(value: Any) -> Any:
    """Return a list of words as one text."""
    return ",".join(filter(_is_text, value)) if isinstance(value, list) else value


def _is_text(value: Any) -> bool:
    return isinstance(value, str)
