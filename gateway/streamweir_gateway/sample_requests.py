"""The smallest request of a dialect, and the place of the user's message in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from streamweir.codec.dialects import Dialects
from streamweir_gateway.config import EndpointConfig

__all__ = ["JUST_A_MESSAGE", "Sample", "sample_dialect", "sample_for", "sample_of"]

Place: TypeAlias = tuple[str | int, ...]

JUST_A_MESSAGE: Final = "message"
"""Replaces a dialect's name: most services understand a body with only a `message`, as the demos do."""

_MESSAGE: Final[Mapping[str, Any]] = {"message": "How many orders did Hangzhou have?"}
_KEYS: Final = (
    *("message", "query", "question", "user_question", "prompt", "user_prompt", "start_question"),
    *("input", "text", "content", "parts", "messages", "contents", "newMessage", "additional_messages"),
    *("params", "start_event"),
)
"""Keys under which dialects have the message, or an object or a list that contains the message."""


class Sample(NamedTuple):
    """A sample request."""

    body: Mapping[str, Any]
    place: Place
    """The keys and indices that lead to the text of the message; empty if it has no message."""


def sample_dialect(endpoint: EndpointConfig, protocol: str) -> str:
    """Return the dialect of the requests that an endpoint takes from clients of `protocol`.

    Args:
        endpoint: the endpoint.
        protocol: the protocol of the answer. If requests are mapped, it is also the protocol of the request.

    Returns:
        The name of the dialect, or `JUST_A_MESSAGE`.
    """
    if endpoint.maps_requests:
        return protocol
    if endpoint.models:
        return endpoint.answers[0]
    upstream = endpoint.upstreams[0]
    return JUST_A_MESSAGE if upstream.demo or upstream.speaks == "auto" else upstream.speaks


def sample_of(name: str, dialects: Dialects) -> Sample:
    """Return the smallest request of a dialect, or of `JUST_A_MESSAGE`."""
    body = dict(_MESSAGE if name == JUST_A_MESSAGE else dialects[name].sample_request)
    return Sample(body, next(_places(body), ()))


def sample_for(endpoint: EndpointConfig, protocol: str, dialects: Dialects) -> Sample:
    """Return the smallest request that an endpoint takes from clients of `protocol`."""
    sample = sample_of(sample_dialect(endpoint, protocol), dialects)
    if not endpoint.models:
        return sample
    return sample._replace(body={**sample.body, "model": next(iter(endpoint.models))})


def _places(value: Any) -> Iterator[Place]:
    """Yield the places of texts below known keys: the last item of a list, the first key of an object."""
    if isinstance(value, str):
        yield ()
    elif isinstance(value, list | tuple) and value:
        last = len(value) - 1
        yield from ((last, *place) for place in _places(value[last]))
    elif isinstance(value, Mapping):
        found = (key for key in _KEYS if key in value)
        yield from ((key, *place) for key in found for place in _places(value[key]))
