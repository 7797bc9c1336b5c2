"""The options of the middleware that normalises the streams of an application.

Source: the library contract, section 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from streamweir.asgi.request_mapping import RequestOption
from streamweir.asgi.stream_factory import TimeoutOptions
from streamweir.failures.ending import FailureMode
from streamweir.http.accept import STREAM_FRAMINGS, StreamFraming
from streamweir.http.paths import Paths
from streamweir.options.durations import Duration
from streamweir.options.heartbeats import AUTO
from streamweir.translation.stream_options import STREAM_DEFAULTS, StreamOptions
from streamweir.translation.taps import TapMaker

if TYPE_CHECKING:
    from streamweir.runs.options import Resume
    from streamweir.runs.store import RunStore

__all__ = ["NORMALIZE_DEFAULTS", "STREAM_TYPES", "NormalizeOptions", "ResponseOptions", "stream_options_in"]

STREAM_TYPES: Final = tuple(STREAM_FRAMINGS)


class ResponseOptions(TypedDict, total=False):
    """The options that choose the responses to translate, and how these are sent.

    Attributes:
        answers: the protocols that a client may choose from; the first is the default.
        paths: patterns (`/chat`, `/agents/{id}/run`, `/agent/*`), one or several; None: every path. If
            there are patterns, the application is asked not to compress, and failures are always answered.
        media_types: the content types of responses that are streams.
        framing: `sse` or `ndjson` if `Accept` names neither; None: the framing of the application.
        heartbeat: the longest silence, in seconds or as text such as `"15s"`, before a heartbeat is
            sent; `None` or `"off"` sends none.
        timeouts: `first_event`, `idle`, `total`, `waiting`, in seconds or as text; a clock that is not listed
            never runs out.
    """

    answers: str | Sequence[str]
    paths: Paths
    media_types: str | Sequence[str]
    framing: StreamFraming | None
    heartbeat: Duration | None
    timeouts: TimeoutOptions


class NormalizeOptions(ResponseOptions, StreamOptions, total=False):
    """The options of `NormalizeMiddleware` in addition to `speaks`.

    Attributes:
        failures: the handling of failures for clients that get the application's own frames: `as_they_came`
            raises the application's exceptions to the server, and leaves a body unended that the application
            does not end; `told` ends each stream properly.
        reraise: raise the application's exception again once the response is complete, for error trackers.
        request: `mapped`: requests in another protocol than the application's are handed to it in the form of
            its dialect; needs `paths`. `passthrough`: such requests pass unread.
        otel: traces are not made yet: True is refused.
        resume: keep the streams, so that a client that lost its connection reads on; needs asyncio.
        store: where the streams are kept; None: in a memory store of the middleware.
        taps: callables that take the scope of a request when its stream begins and return an `EventTap`,
            which follows the stream, or None.
    """

    failures: FailureMode
    reraise: bool
    request: RequestOption
    otel: bool
    resume: Resume | None
    store: RunStore | None
    taps: Sequence[TapMaker]


NORMALIZE_DEFAULTS: Final[NormalizeOptions] = {
    "answers": ("standard",),
    "paths": None,
    "media_types": STREAM_TYPES,
    "framing": None,
    "heartbeat": AUTO,
    "timeouts": None,
    "full_text": STREAM_DEFAULTS["full_text"],
    "stream_tool_arguments": STREAM_DEFAULTS["stream_tool_arguments"],
    "protocol_options": STREAM_DEFAULTS["protocol_options"],
    "raw": STREAM_DEFAULTS["raw"],
    "eof": STREAM_DEFAULTS["eof"],
    "verbatim": STREAM_DEFAULTS["verbatim"],
    "failures": "as_they_came",
    "limits": STREAM_DEFAULTS["limits"],
    "warnings": STREAM_DEFAULTS["warnings"],
    "debug": STREAM_DEFAULTS["debug"],
    "upstream": STREAM_DEFAULTS["upstream"],
    "reraise": False,
    "request": "passthrough",
    "otel": False,
    "resume": None,
    "store": None,
    "taps": (),
}
"""The default of each option."""


def stream_options_in(options: NormalizeOptions) -> StreamOptions:
    """Return the options of `StreamOptions` that are in the complete `options`."""
    given = cast("dict[str, Any]", options)
    return cast("StreamOptions", {name: given[name] for name in STREAM_DEFAULTS})
