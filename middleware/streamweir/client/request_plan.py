"""The requests of a stream: the first one, and those that resume its run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from streamweir.client.attempt import StreamAttempt
from streamweir.client.http_request import HttpRequest, RequestParts, failed_connection, on_same_server
from streamweir.client.rejections import info_of_rejection
from streamweir.client.waits import WaitOver, Waits
from streamweir.codec.registry import process_dialects
from streamweir.errors import ConfigurationError, error_info
from streamweir.jsontext import write_json
from streamweir.options.durations import Duration, parse_duration
from streamweir.options.run_defaults import RUNS_PATH
from streamweir.options.timeouts import Timeouts
from streamweir.request_errors import RequestRejected, RequestTimeout, StreamFailed
from streamweir.request_id import new_request_id, valid_request_id
from streamweir.translation.clock import timeout_error

__all__ = ["RequestPlan"]

_ACCEPT: Final = {
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson, application/json;q=0.9",
    "auto": "text/event-stream, application/x-ndjson;q=0.9",
}
_IDLE_SECONDS: Final = 45.0
"""The default `idle` timeout if the client may resume with a handle that it made."""


class _StoppedRun(msgspec.Struct):
    status: str = "cancelled"


class _Stopped(msgspec.Struct):
    """The statuses with which a server answers a request to stop a run."""

    run: _StoppedRun


class RequestPlan:
    """The requests of one stream; see `stream_request`.

    Attributes:
        waits: the waits of the stream.
        handle: the handle of a run that the first request brings; None: it brings no handle.
        resume_seconds: for how long the client tries to resume without receiving an event.
        may_be_repeated: the first request can be sent again, because its body is in memory.

    Raises:
        ConfigurationError: the request cannot be sent.
        UnknownDialectError: there is no decoder for `speaks`.
    """

    def __init__(  # noqa: PLR0913 (the options of a request)
        self,
        method: str,
        url: str,
        *,
        json: Any,
        content: Any,
        headers: Mapping[str, str] | None,
        params: Mapping[str, Any] | None,
        speaks: str,
        timeouts: Timeouts | Mapping[str, Duration | None] | str | None,
        request_id: str | None,
        open_request: Callable[[RequestParts], HttpRequest],
        waits: Waits,
        handle: str | None,
    ) -> None:
        if json is not None and content is not None:
            raise ConfigurationError("json and content are two bodies: give one of them")
        self.handle: Final = handle
        self.resume_seconds, self._timeouts = _clocks(timeouts, idles=handle is not None)
        sent = {
            "accept": _ACCEPT["auto" if speaks == "auto" else process_dialects().to_read(speaks).framing],
            "accept-encoding": "identity",
            **({} if json is None else {"content-type": "application/json"}),
            **{name.lower(): value for name, value in (headers or {}).items()},
        }
        sent["x-request-id"] = request_id = request_id or sent.get("x-request-id") or new_request_id()
        if not valid_request_id(request_id):
            raise ConfigurationError(
                f"not a request id: {request_id!r} (letters, digits, . _ : -, at most 128)"
            )
        self._request_id: Final = request_id
        self._speaks: Final = speaks
        self._open_request: Final = open_request
        self.waits: Final = waits
        self._method: Final = method
        self._url: Final = url
        self._body: Final = content if json is None else write_json(json)
        self._params: Final = params
        self._headers: Final = sent
        self.may_be_repeated: Final = self._body is None or isinstance(self._body, str | bytes)

    def first(self) -> StreamAttempt:
        """Return the first request; if it is sent again, it joins its run."""
        brought = {} if self.handle is None else {"x-streamweir-run": self.handle}
        exchange = self._exchange(
            self._method,
            self._url,
            body=self._body,
            params=self._params,
            headers={**self._headers, **brought},
        )
        return self._attempt(exchange)

    def reading(self, run: str, location: str, position: int | None) -> StreamAttempt:
        """Return the request that resumes reading a run.

        Args:
            run: the handle of the run.
            location: the URL at which the run is read, from the answer.
            position: the last event that has arrived; None if none has arrived.
        """
        headers = {name: value for name, value in self._headers.items() if name != "content-type"}
        if position is not None:
            headers["last-event-id"] = f"{run}.{position}"
        return self._attempt(self._exchange("GET", self._where(run, location), headers=headers), goes_on=True)

    async def cancel(self, run: str, location: str) -> str:
        """Stop a run; return its status.

        Raises:
            RequestRejected: the server does not know the run.
            StreamRequestError: the server could not be asked, or its answer is invalid.
        """
        url = f"{self._where(run, location)}/cancel"
        headers = {name: value for name, value in self._headers.items() if name != "content-type"}
        exchange = self._exchange("POST", url, headers={**headers, "accept": "application/json"})
        seconds = self._timeouts.first_event
        deadline = self.waits.now() + (float("inf") if seconds is None else seconds)
        try:
            response = await self.waits.within(deadline, exchange.send, exchange.abort)
            body = await exchange.read_rejection(self.waits)
        except WaitOver as error:
            raise RequestTimeout(timeout_error("first_event_timeout"), request_id=self._request_id) from error
        except Exception as error:
            kind, info = failed_connection(error)
            raise kind(info, request_id=self._request_id) from error
        finally:
            await exchange.aclose()
        if response.status_code in (200, 202):
            try:
                return msgspec.json.decode(body, type=_Stopped).run.status
            except msgspec.MsgspecError as error:
                info = error_info("UPSTREAM_INVALID_RESPONSE")
                raise StreamFailed(info, request_id=self._request_id, status=response.status_code) from error
        info = info_of_rejection(response.status_code, retry_after=None, body=body)
        raise RequestRejected(info, request_id=self._request_id, status=response.status_code)

    def _where(self, run: str, location: str) -> str:
        return on_same_server(self._url, location, otherwise=f"{RUNS_PATH}/{run}")

    def _exchange(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> HttpRequest:
        parts = RequestParts(method, url, body, headers, params, self._timeouts.connect)
        return self._open_request(parts)

    def _attempt(self, exchange: HttpRequest, *, goes_on: bool = False) -> StreamAttempt:
        return StreamAttempt(
            exchange,
            speaks=self._speaks,
            timeouts=self._timeouts,
            request_id=self._request_id,
            waits=self.waits,
            goes_on=goes_on,
        )


def _clocks(
    given: Timeouts | Mapping[str, Duration | None] | str | None, *, idles: bool
) -> tuple[float, Timeouts]:
    """Return the seconds for which the client tries to resume, and the clocks of each attempt."""
    resume = 300.0
    if isinstance(given, Mapping):
        named = dict(given)
        if (value := named.pop("resume", None)) is not None:
            resume = parse_duration(value, name="timeouts.resume")
        if idles:
            named.setdefault("idle", _IDLE_SECONDS)
        return resume, Timeouts.of(named)
    if given is None and idles:
        return resume, Timeouts.of({"idle": _IDLE_SECONDS})
    return resume, Timeouts.of(given)
