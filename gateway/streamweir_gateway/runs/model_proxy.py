"""Serves several upstreams at one path: the model that a request names chooses the upstream.

Source: the configuration contract (`models`).
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import Receive, Scope, Send

from streamweir.http.refusals import Refusal
from streamweir.requests.errors import RequestError
from streamweir.requests.reading import parse_body
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.live_streams import LiveStreams
from streamweir_gateway.runs.proxy import Proxy, refused
from streamweir_gateway.runs.request_body import RequestBodies, RequestBody
from streamweir_gateway.runs.requested_model import requested_model

__all__ = ["ModelProxy"]


class ModelProxy(Proxy):
    """The ASGI endpoint of one path whose requests name a model.

    Args:
        endpoints: the endpoint of each model; at least one.
        streams: the streams of the process.
        bodies: reads and bounds request bodies.
        observer: gets the records of requests.
    """

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        *,
        streams: LiveStreams,
        bodies: RequestBodies,
        observer: Observer,
    ) -> None:
        super().__init__(next(iter(endpoints.values())), streams=streams, bodies=bodies, observer=observer)
        self._proxies = {
            name: Proxy(endpoint, streams=streams, bodies=bodies, observer=observer)
            for name, endpoint in endpoints.items()
        }

    async def answer(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        record: RequestRecord,
        body: RequestBody | None = None,
    ) -> None:
        """Read the body, and pass the request to the endpoint of the model that the body names."""
        if body is None:
            bodies, limit = self._bodies, self._endpoint.request_bytes
            body = bodies.arrived(scope, receive, limit) or await bodies.read(scope, receive, limit)
        try:
            try:
                request = parse_body(body.data)
            except RequestError as error:
                raise refused(error) from None
            model = requested_model(request)
            proxy = self._proxy_of(model, scope)
            record.model = model
            await proxy.answer(scope, receive, send, record, body)
        finally:
            body.release()

    def _proxy_of(self, model: str | None, scope: Scope) -> Proxy:
        if model is None:
            raise Refusal("BAD_REQUEST", "The request must name a `model`.")
        allowed = scope["state"].get("models") or self._proxies
        if model not in self._proxies or model not in allowed:
            raise Refusal("MODEL_NOT_FOUND")
        return self._proxies[model]
