"""The middleware to mount: request ids, safe errors and normalised streams, in the right order.

Source: the library contract, section 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

from streamweir.asgi.normalize import NormalizeMiddleware
from streamweir.asgi.normalize_options import NORMALIZE_DEFAULTS, NormalizeOptions
from streamweir.asgi.request_id import RequestIDMiddleware
from streamweir.asgi.safe_errors import SafeErrorMiddleware
from streamweir.http.sending import ASGIApp, Receive, Scope, Send
from streamweir.options.signatures import spells_out
from streamweir.request_id import new_request_id, valid_request_id

__all__ = ["StreamweirMiddleware"]


class StreamweirMiddleware:
    """`RequestIDMiddleware`, `SafeErrorMiddleware` and `NormalizeMiddleware` in one.

    The options are those of `NormalizeMiddleware` and `RequestIDMiddleware`. Failures are answered for the
    requests for which `NormalizeMiddleware` answers them; for others the exception is raised to the server.

    Raises:
        UnknownDialectError: there is no decoder for `speaks`, or no encoder for one of `answers`.
        ConfigurationError: another option has an invalid value.
    """

    @spells_out(NormalizeOptions, NORMALIZE_DEFAULTS, before="header")
    def __init__(
        self,
        app: ASGIApp,
        *,
        speaks: str,
        header: str = "X-Request-Id",
        generator: Callable[[], str] = new_request_id,
        validator: Callable[[str], bool] = valid_request_id,
        **options: Unpack[NormalizeOptions],
    ) -> None:
        self.app = app
        normalize = NormalizeMiddleware(app, speaks=speaks, **options)
        debug, reraise = options.get("debug", False), options.get("reraise", False)
        self._stack = RequestIDMiddleware(
            _OwnFaults(normalize, debug=debug, reraise=reraise),
            header=header,
            generator=generator,
            validator=validator,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        await self._stack(scope, receive, send)


class _OwnFaults(SafeErrorMiddleware):
    """Answers failures of the layers above the application, for requests whose failures are answered."""

    _ends_streams = False  # a stream below ends itself, and others are not read

    def __init__(self, normalize: NormalizeMiddleware, *, debug: bool, reraise: bool) -> None:
        super().__init__(normalize, debug=debug, reraise=reraise)
        self._normalize = normalize

    def _covers(self, scope: Scope) -> bool:
        return scope["method"] != "HEAD" and self._normalize.covers_failures(scope)
