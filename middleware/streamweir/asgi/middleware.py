"""What to mount: request ids, safe errors and normalised streams, in the order that works.

Source: the library contract, section 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from streamweir.asgi.normalize import STREAM_TYPES, NormalizeMiddleware
from streamweir.asgi.request_id import RequestIDMiddleware
from streamweir.asgi.safe_errors import SafeErrorMiddleware
from streamweir.asgi.stream_options import StreamFraming, TimeoutOptions
from streamweir.http.paths import Paths
from streamweir.http.sending import ASGIApp, Receive, Scope, Send
from streamweir.options.durations import Duration
from streamweir.options.limits import Limits
from streamweir.options.timeouts import HEARTBEAT
from streamweir.request_id import new_request_id, valid_request_id
from streamweir.stages import FullText
from streamweir.translation.reader import EndOfBody

if TYPE_CHECKING:
    from streamweir.runs.options import Resume
    from streamweir.runs.store import RunStore

__all__ = ["StreamweirMiddleware"]


class StreamweirMiddleware:
    """`RequestIDMiddleware`, `SafeErrorMiddleware` and `NormalizeMiddleware` around an application, in one.

    The options are those of `NormalizeMiddleware` and `RequestIDMiddleware`. A failure is answered where
    `NormalizeMiddleware` does so, and passes on elsewhere.

    Raises:
        UnknownDialectError: nobody reads `speaks` or writes one of `answers`.
        ConfigurationError: another option has a value that it cannot have.
    """

    def __init__(  # noqa: PLR0913 (the keyword-only options are the contract of the library)
        self,
        app: ASGIApp,
        *,
        speaks: str,
        answers: str | Sequence[str] = ("standard",),
        paths: Paths = None,
        media_types: str | Sequence[str] = STREAM_TYPES,
        framing: StreamFraming | None = None,
        heartbeat: Duration | None = HEARTBEAT,
        timeouts: TimeoutOptions = None,
        full_text: FullText = "dedupe",
        stream_tool_arguments: bool = False,
        protocol_options: Mapping[str, Mapping[str, Any]] | None = None,
        raw: bool = False,
        eof: EndOfBody = "truncated",
        verbatim: bool = True,
        limits: Limits | Mapping[str, Any] | None = None,
        warnings: Sequence[str | Mapping[str, Any]] = (),
        debug: bool = False,
        reraise: bool = False,
        resume: Resume | None = None,
        store: RunStore | None = None,
        header: str = "X-Request-Id",
        generator: Callable[[], str] = new_request_id,
        validator: Callable[[str], bool] = valid_request_id,
    ) -> None:
        self.app = app
        normalize = NormalizeMiddleware(
            app,
            speaks=speaks,
            answers=answers,
            paths=paths,
            media_types=media_types,
            framing=framing,
            heartbeat=heartbeat,
            timeouts=timeouts,
            full_text=full_text,
            stream_tool_arguments=stream_tool_arguments,
            protocol_options=protocol_options,
            raw=raw,
            eof=eof,
            verbatim=verbatim,
            limits=limits,
            warnings=warnings,
            debug=debug,
            reraise=reraise,
            resume=resume,
            store=store,
        )
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
    """Answers what goes wrong above the application, and only where its failures are answered at all."""

    _ends_streams = False  # the stream below ends itself; one that it lets through is not ours

    def __init__(self, normalize: NormalizeMiddleware, *, debug: bool, reraise: bool) -> None:
        super().__init__(normalize, debug=debug, reraise=reraise)
        self._normalize = normalize

    def _covers(self, scope: Scope) -> bool:
        return scope["method"] != "HEAD" and self._normalize.covers_failures(scope)
