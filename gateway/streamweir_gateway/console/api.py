"""The API of the console. All other paths serve its page.

Source: the console contract, section 1 (API).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl, unquote

import msgspec
from starlette.types import Receive, Scope, Send

from streamweir.http.refusals import Refusal, send_refusal
from streamweir.http.sending import send_whole
from streamweir.request_id import new_request_id
from streamweir_gateway.config import Address
from streamweir_gateway.console.answer_events import MAX_EXPECTED, AnswerEvents
from streamweir_gateway.console.capture_lines import CaptureLines
from streamweir_gateway.console.capture_payload import CapturePayload
from streamweir_gateway.console.configuration_view import ConfigurationView
from streamweir_gateway.console.dialect_losses import dialect_losses
from streamweir_gateway.console.feed import Feed, send_events
from streamweir_gateway.console.guard import API
from streamweir_gateway.console.live_captures import LiveCaptures
from streamweir_gateway.console.page import ConsolePage
from streamweir_gateway.console.playground import PlaygroundRequest, play
from streamweir_gateway.console.plots import Plots
from streamweir_gateway.console.row import Row, as_object
from streamweir_gateway.console.row_book import RowBook
from streamweir_gateway.console.row_filter import RowFilter, whole_number
from streamweir_gateway.console.viewer_presence import run_until_left
from streamweir_gateway.console.viewers import MAX_VIEWERS, Viewers
from streamweir_gateway.console.worker_links import WorkerLinks
from streamweir_gateway.json_body import read_json_body
from streamweir_gateway.observability.secrets import secrets_of

__all__ = ["ConsoleApi"]

MAX_BODY: Final = 10 << 20
"""The most bytes that a request to the playground may have."""
_BUSY: Final = (
    "The process that served this stream does not answer now. Its capture is kept: try again later."
)
_JSON: Final = (b"content-type", b"application/json")
_VERSION: Final = f"{API}v1/"

Query: TypeAlias = Mapping[str, str]
Handler: TypeAlias = Callable[[Query], Awaitable[Any]]


class ConsoleApi:
    """The ASGI application of the console, which `ConsoleGuard` calls.

    Args:
        view: the view of the configuration.
        book: the book of the rows.
        plots: the plots of the rows.
        viewers: the viewers of the feed.
        links: the connections to the serving processes.
        gateway: the address of the gateway.
        token: the token of the console; it is removed from captures.
    """

    def __init__(
        self,
        view: ConfigurationView,
        book: RowBook,
        plots: Plots,
        viewers: Viewers,
        links: WorkerLinks,
        *,
        gateway: Address,
        token: str,
    ) -> None:
        self._view = view
        self._book = book
        self._plots = plots
        self._viewers = viewers
        self._links = links
        self._gateway = gateway
        self._token = token
        self._page = ConsolePage()
        self._captures = LiveCaptures()
        self._losses: bytes = b""
        self._answers_read = AnswerEvents()
        self._answers: dict[str, Handler] = {
            "info": self._info,
            "streams": self._streams,
            "plots": self._plots_of,
            "config": self._config,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        try:
            if scope["path"].startswith(API):
                await self._serve(scope["path"].removeprefix(_VERSION), scope, receive, send)
            else:
                await self._page(scope, receive, send)
        except Refusal as refusal:
            await send_refusal(send, refusal, request_id=new_request_id())

    async def _serve(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        if path == "playground":
            _check_method(scope, "POST")
            asked = await read_json_body(scope, receive, PlaygroundRequest, MAX_BODY)
            await self._play(asked, receive, send)
            return
        name, _, rest = path.partition("/")
        answer = self._answers.get(path)
        if answer is None and path not in ("feed", "dialects", "playground/events") and name != "streams":
            raise Refusal("ENDPOINT_NOT_FOUND")
        _check_method(scope, "GET")
        if answer is not None:
            await _send_json(send, await answer(query))
        elif path == "feed":
            await self._feed(query, receive, send)
        elif path == "playground/events":
            await self._answer_events(query, receive, send)
        elif path == "dialects":
            await send_whole(send, 200, await self._dialects(), [_JSON])
        else:
            row_id, _, part = rest.partition("/")
            await self._stream(unquote(row_id), part, send)

    # --- answers --------------------------------------------------------------------------------------------

    async def _info(self, _query: Query) -> Any:
        return self._view.info()

    async def _streams(self, query: Query) -> Any:
        try:
            wanted = RowFilter.of(query)
        except ValueError as error:
            raise Refusal("BAD_REQUEST", str(error)) from None
        await self._links.refresh()
        page = wanted.page(self._book)
        return {"streams": page.rows, "total": page.total, "seq": self._book.seq}

    async def _plots_of(self, query: Query) -> Any:
        await self._links.refresh()
        return self._plots.all(query.get("endpoint") or None)

    async def _config(self, _query: Query) -> Any:
        return self._view.shown(await self._links.upstreams())

    async def _dialects(self) -> bytes:
        if not self._losses:
            found = await asyncio.to_thread(dialect_losses, self._view.config.known_dialects)
            self._losses = msgspec.json.encode(found)
        return self._losses

    def note_configuration(self) -> None:
        """Forget the cached answers, because they were made from an earlier configuration."""
        self._losses = b""

    # --- the playground -------------------------------------------------------------------------------------

    async def _play(self, asked: PlaygroundRequest, receive: Receive, send: Send) -> None:
        config = self._view.config
        known = config.known_dialects
        await play(
            asked, config.endpoints, self._gateway, receive, send, events=self._answers_read, dialects=known
        )

    async def _answer_events(self, query: Query, receive: Receive, send: Send) -> None:
        request_id, protocol = query.get("request_id", ""), query.get("protocol", "")
        if len(self._answers_read) >= MAX_EXPECTED:
            raise Refusal("OVERLOADED", "Too many answers are expected.", headers={"Retry-After": "10"})
        if not request_id:
            raise Refusal("BAD_REQUEST", "request_id is missing.")
        known = self._view.config.known_dialects
        if protocol not in known or known[protocol].decoder is None:
            raise Refusal("BAD_REQUEST", "protocol must be the name of a dialect that is read.")
        with self._answers_read.expect(request_id, protocol) as answer:
            await run_until_left(receive, send_events(answer, send))

    # --- one stream -----------------------------------------------------------------------------------------

    async def _stream(self, row_id: str, part: str, send: Send) -> None:
        row = self._row(row_id)
        if part not in ("", "capture"):
            raise Refusal("ENDPOINT_NOT_FOUND")
        await self._links.refresh()
        row = self._row(row_id)
        payload = await self._payload(row)
        if part == "capture":
            await self._send_capture(row, payload, send)
            return
        attempts = [] if payload is None else [as_object(one) for one in payload.attempts]
        await _send_json(send, {**as_object(row), "attempts": attempts})

    async def _payload(self, row: Row) -> CapturePayload | None:
        """Return the facts and the log of a stream once its secrets are masked; None if they are not kept."""
        try:
            payload = await self._links.capture(row)
            while payload is not None and payload.is_masking:
                payload = await self._links.capture(row)
        except TimeoutError:
            raise Refusal("OVERLOADED", _BUSY, headers={"Retry-After": "5"}) from None
        return payload

    def _row(self, row_id: str) -> Row:
        row = self._book.get(row_id)
        if row is None:
            raise Refusal("ENDPOINT_NOT_FOUND", "There is no such stream, or it is not kept any longer.")
        return row

    async def _send_capture(self, row: Row, payload: CapturePayload | None, send: Send) -> None:
        if payload is None:
            raise Refusal("ENDPOINT_NOT_FOUND", "The capture of this stream is not kept.")
        body = await asyncio.to_thread(self._capture, payload)
        name = "".join(letter for letter in row.request_id if letter.isalnum() or letter in "-_.")[:80]
        headers = [
            (b"content-type", b"application/x-ndjson"),
            (b"content-disposition", f'attachment; filename="{name or row.id}.capture.jsonl"'.encode()),
        ]
        await send_whole(send, 200, body, headers)

    def _capture(self, payload: CapturePayload) -> bytes:
        """Return the capture file of a stream. For a stream under way, the file ends at its latest entry."""
        made = self._lines(payload)
        made.feed(payload)
        made.flush()
        return b"".join(made.take())

    def _lines(self, payload: CapturePayload) -> CaptureLines:
        config = self._view.config
        return CaptureLines(payload, {*secrets_of(config), self._token}, config.known_dialects)

    # --- the feed -------------------------------------------------------------------------------------------

    async def _feed(self, query: Query, receive: Receive, send: Send) -> None:
        if len(self._viewers) >= MAX_VIEWERS:
            raise Refusal("OVERLOADED", "There are too many viewers.", headers={"Retry-After": "10"})
        since, row_id = query.get("since", ""), query.get("stream", "")
        row = self._row(row_id) if row_id else None
        try:
            viewer = self._viewers.add(whole_number("since", since) if since else None)
        except ValueError as error:
            raise Refusal("BAD_REQUEST", str(error)) from None
        self._links.watch(True)
        follower = None
        if row is not None:
            pull = partial(self._links.capture, row)
            follower = self._captures.follow(row.id, pull, self._lines, viewer.news)
        try:
            await Feed(self._viewers, viewer, self._view.info, follower).run(receive, send)
        finally:
            if row is not None and follower is not None:
                self._captures.leave(row.id, follower)
            self._viewers.remove(viewer)
            self._links.watch(len(self._viewers) > 0)


def _check_method(scope: Scope, method: str) -> None:
    if scope["method"] not in ((method, "HEAD") if method == "GET" else (method,)):
        raise Refusal("METHOD_NOT_ALLOWED", headers={"Allow": method})


async def _send_json(send: Send, value: Any) -> None:
    await send_whole(send, 200, msgspec.json.encode(value), [_JSON])
