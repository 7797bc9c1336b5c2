"""The gateway as an ASGI application: a configuration in, a Starlette application out.

Any server can run it; what only one kind of server can do (limits on headers, signals) is in `server`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from streamweir.asgi import RequestIDMiddleware, SafeErrorMiddleware
from streamweir.asgi.headers import settled_request_id
from streamweir.asgi.refusals import Refusal
from streamweir.asgi.responses import refusal_response
from streamweir_gateway.config import EndpointConfig, GatewayConfig
from streamweir_gateway.endpoint import Endpoint
from streamweir_gateway.observability.logs import RequestLog, RequestRecord, request_log
from streamweir_gateway.proxy import Proxy
from streamweir_gateway.routing import routes_of
from streamweir_gateway.supervision import Streams
from streamweir_gateway.upstream import UpstreamClient

__all__ = ["build_app"]

_CODES: Final = {404: "ENDPOINT_NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}


def build_app(
    config: GatewayConfig,
    *,
    client: UpstreamClient | None = None,
    streams: Streams | None = None,
    log: RequestLog | None = None,
) -> Starlette:
    """Return the application that serves `config`.

    Args:
        config: the settled configuration.
        client: what requests go out through.
        streams: where streams under way are kept, for who wants to end them.
        log: what a finished request is told to; standard error where it is None.
    """
    gateway = _Gateway(
        config,
        UpstreamClient() if client is None else client,
        Streams() if streams is None else streams,
        request_log() if log is None else log,
    )
    app = Starlette(
        routes=routes_of(config, serve=gateway.serve, streams=gateway.streams),
        middleware=[Middleware(RequestIDMiddleware), Middleware(SafeErrorMiddleware)],
        exception_handlers={HTTPException: gateway.refuse},
        lifespan=gateway.lifespan,
    )
    app.router.redirect_slashes = False
    return app


class _Gateway:
    """What the endpoints share."""

    def __init__(
        self, config: GatewayConfig, client: UpstreamClient, streams: Streams, log: RequestLog
    ) -> None:
        self.streams = streams
        self._config = config
        self._client = client
        self._log = log
        self._demos: Mapping[str, str] = {}

    @asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        """Run the demo backends that endpoints ask for; close every connection at the end."""
        async with AsyncExitStack() as stack:
            if dialects := self._demo_dialects():
                from streamweir_gateway.demo import serve_demos  # noqa: PLC0415 - few gateways have any

                self._demos = await stack.enter_async_context(serve_demos(dialects))
            stack.push_async_callback(self._client.aclose)
            yield

    def serve(self, config: EndpointConfig) -> ASGIApp:
        """Return the application behind an endpoint."""
        if config.upstreams[0].demo is None:
            return self._proxy(config)
        return _OnFirstUse(lambda: self._proxy(config))  # a demo's address is known once it runs

    async def refuse(self, request: Request, error: Exception) -> Response:
        """Answer a request that no endpoint takes."""
        assert isinstance(error, HTTPException)
        code = _CODES.get(error.status_code, "BAD_REQUEST")
        request_id = settled_request_id(request.scope)
        response = refusal_response(Refusal(code, headers=error.headers), request_id=request_id)
        record = RequestRecord(request_id, request.method, request.scope["path"])
        record.status, record.code = response.status_code, code
        record.write(self._log)
        return response

    def _demo_dialects(self) -> list[str]:
        targets = (endpoint.upstreams[0] for endpoint in self._config.endpoints)
        return sorted({target.demo for target in targets if target.demo is not None})

    def _proxy(self, config: EndpointConfig) -> Proxy:
        target = config.upstreams[0]
        url = target.url if target.demo is None else self._demos[target.demo]
        assert url is not None, "a target has a URL or a demo"
        endpoint = Endpoint(config, url, debug=self._config.debug)
        return Proxy(endpoint, client=self._client, streams=self.streams, log=self._log)


class _OnFirstUse:
    """An application that is made when the first request comes."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    @cached_property
    def _app(self) -> ASGIApp:
        return self._make()
