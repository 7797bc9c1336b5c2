"""The client's request, in the form that the packages `requests/` and `runs/` use."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from streamweir.codec.client_names import NO_NAMES, ClientNames
from streamweir.http.headers import HeaderList
from streamweir_gateway.observability.trace_context import TraceContext

__all__ = ["Incoming"]


class Incoming(Struct, frozen=True):
    """One request of a client, without its body.

    Attributes:
        request_id: the id of the request.
        method: the HTTP method, such as `POST`.
        path_params: the values of the `{names}` in the path of the endpoint.
        headers: the headers, names in lower case.
        query: the query, without the question mark.
        answers: the protocol that the client asks for.
        framing: the framing of the answer: `sse`, `ndjson` or `json`.
        trace: the trace that the request belongs to.
        began: the arrival of the request in Unix milliseconds. The time of a stream includes all attempts.
        key: the name of the client's key; None for a request without a key.
        names: the names by which the client calls its model and its ids.
        follows: whether neither the client nor the configuration chose the framing.
    """

    request_id: str
    method: str
    path_params: Mapping[str, str]
    headers: HeaderList
    query: bytes
    answers: str
    framing: str
    trace: TraceContext
    began: int
    key: str | None = None
    names: ClientNames = NO_NAMES
    follows: bool = False
