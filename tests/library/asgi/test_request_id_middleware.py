"""The request id: kept or made, and present in every documented place."""

import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hosts import Call, body, start
from streamweir import ConfigurationError, RequestIDLogFilter, current_request_id, valid_request_id
from streamweir.asgi import RequestIDMiddleware

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Seen:
    """An application that notes where it finds the id."""

    def __init__(self, *headers: tuple[bytes, bytes]) -> None:
        self.headers = headers

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scope = scope
        self.current = current_request_id()
        if scope["type"] == "http":
            await send(start(b"text/plain", *self.headers))
            await send(body(b"hi"))


def ids_in(headers: Any, name: bytes = b"x-request-id") -> list[str]:
    return [value.decode() for key, value in headers if key.lower() == name]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["abc.1:2_-"], True),
        (["a" * 128], True),
        ([], False),
        ([""], False),
        (["a" * 129], False),
        (["two words"], False),
        (["abc", "abc"], False),
        (["<script>"], False),
    ],
)
async def test_single_valid_request_id_is_kept(given: list[str], kept: bool) -> None:
    app = Seen()
    call = await Call(RequestIDMiddleware(app), headers=[("X-Request-Id", value) for value in given]).run()
    request_id = app.current
    assert request_id is not None
    assert (request_id == given[0]) if kept else (request_id.startswith("req_") and len(request_id) == 36)
    assert ids_in(app.scope["headers"]) == [request_id]
    assert app.scope["state"]["request_id"] == request_id
    assert ids_in(call.sent[0]["headers"]) == [request_id]
    assert current_request_id() is None


async def test_request_id_header_of_the_application_is_replaced() -> None:
    app = Seen((b"X-Request-Id", b"mine"), (b"x-request-id", b"again"), (b"x-other", b"1"))
    call = await Call(RequestIDMiddleware(app)).run()
    assert ids_in(call.sent[0]["headers"]) == [app.current]
    assert (b"x-other", b"1") in call.sent[0]["headers"]


async def test_request_id_follows_another_header_and_other_rules() -> None:
    app = Seen()
    mounted = RequestIDMiddleware(
        app, header="X-Correlation-Id", generator=lambda: "made", validator=lambda value: value == "good one"
    )
    call = await Call(mounted, headers=[("X-Correlation-Id", "good one")]).run()
    assert app.current == "good one"
    assert ids_in(call.sent[0]["headers"], b"x-correlation-id") == ["good one"]
    await Call(mounted, headers=[("X-Correlation-Id", "bad")]).run()
    assert app.current == "made"


async def test_websocket_gets_a_request_id() -> None:
    app = Seen()
    await Call(RequestIDMiddleware(app), kind="websocket").run()
    assert app.current is not None
    assert valid_request_id(app.current)
    assert app.scope["state"]["request_id"] == app.current
    call = Call(RequestIDMiddleware(app), kind="lifespan")
    before = dict(call.scope)
    await call.run()
    assert app.scope is call.scope
    assert call.scope == before


async def test_lifespan_gets_no_request_id() -> None:
    app = Seen()
    await Call(RequestIDMiddleware(app), kind="lifespan").run()
    assert app.current is None


async def test_scope_of_the_caller_keeps_its_headers() -> None:
    call = await Call(RequestIDMiddleware(Seen())).run()
    assert call.scope["headers"] == []


async def test_concurrent_requests_have_their_own_ids() -> None:
    seen: dict[str, set[str | None]] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        mine = scope["state"]["request_id"]
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
            seen.setdefault(mine, set()).add(current_request_id())

    mounted = RequestIDMiddleware(app)
    async with anyio.create_task_group() as tasks:
        for number in range(50):
            tasks.start_soon(Call(mounted, headers=[("X-Request-Id", f"r{number}")]).run)
    assert seen == {f"r{number}": {f"r{number}"} for number in range(50)}


async def test_log_record_has_the_request_id() -> None:
    class App(Seen):
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            self.record = logging.makeLogRecord({})
            RequestIDLogFilter().filter(self.record)
            await super().__call__(scope, receive, send)

    app = App()
    await Call(RequestIDMiddleware(app), headers=[("X-Request-Id", "abc")]).run()
    assert app.record.request_id == "abc"  # type: ignore[attr-defined]
    record = logging.makeLogRecord({})
    RequestIDLogFilter().filter(record)
    assert record.request_id == "-"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "options", [{"header": "X Request"}, {"header": ""}, {"generator": "x"}, {"validator": None}]
)
def test_wrong_option_of_the_request_id_middleware_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        RequestIDMiddleware(Seen(), **options)
