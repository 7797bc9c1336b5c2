"""Old clients before an application with and without the middleware see the same failures."""

import asyncio
import importlib
import json
import shutil
from collections.abc import AsyncIterator
from functools import cache
from typing import Any, NamedTuple

import httpx
import pytest
from fastapi import FastAPI, HTTPException
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from hosts import body, get, served, start
from old_clients import by_curl, by_fetch
from streams import recorded_streams, translate
from streamweir.asgi import StreamweirMiddleware

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

SSE = "text/event-stream"
OLD = (
    "legacy",
    "data-formulator",
    "stream-envelope",
    "easyflow",
    "ragflow",
    "vercel-ui",
    "openai-chat",
    "anthropic",
)
FAULTS = ("raise-before", "refuse", "raise-within", "unended", "cut", "good", "raise-behind")


class Sample(NamedTuple):
    """A recorded stream of a dialect, in frames."""

    dialect: str
    media_type: str
    frames: list[bytes]

    @property
    def half(self) -> list[bytes]:
        return self.frames[: len(self.frames) // 3]

    @property
    def is_of_use(self) -> bool:
        """It ends well, its first third does not, and no text in it is withheld."""
        whole, half = (ended(self.dialect, frames) for frames in (self.frames, self.half))
        body = b"".join(self.frames)
        framing = "sse" if self.media_type == SSE else "ndjson"
        copied = translate([body], speaks=self.dialect, answers=self.dialect, framing=framing)
        return len(self.frames) > 5 and (whole, half) == ("done", "truncated") and copied == body


def ended(dialect: str, frames: list[bytes]) -> str:
    last = translate([b"".join(frames)], speaks=dialect).splitlines()[-1]
    return str(json.loads(last)["data"]["reason"])


@cache
def sample_of(dialect: str) -> Sample:
    """The first recorded stream of a dialect that is of use here."""
    for stream in recorded_streams():
        gap = {".sse": b"\n\n", ".ndjson": b"\n"}.get(stream.path.suffix)
        if stream.dialect == dialect and gap and b"\r" not in stream.body and not stream.options:
            frames = [frame + gap for frame in stream.body.split(gap) if frame.strip()]
            media_type = SSE if stream.path.suffix == ".sse" else "application/x-ndjson"
            if (sample := Sample(dialect, media_type, frames)).is_of_use:
                return sample
    raise AssertionError(f"no stream of {dialect}")


class Boom(Exception):
    """A failure of the application's own."""


def plain(sample: Sample, fault: str) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if fault == "raise-before":
            raise Boom
        if fault == "refuse":
            await send(start(b"application/json", status=403))
            await send(body(b'{"detail": "Please log in."}'))
            return
        await send(start(sample.media_type.encode()))
        for frame in sample.frames if fault in ("good", "raise-behind") else sample.half:
            await send(body(frame, more=True))
            await asyncio.sleep(0)
        if fault.startswith("raise"):
            raise Boom
        if fault != "unended":
            await send(body())

    return app


def framework(app: Any, sample: Sample, fault: str) -> Any:
    def responded() -> StreamingResponse:
        refuse_early(fault, HTTPException(403, "Please log in."))
        return StreamingResponse(answering(sample, fault), media_type=sample.media_type)

    if isinstance(app, FastAPI):
        app.get("/chat")(responded)
        return app

    async def view(request: Request) -> StreamingResponse:
        return responded()

    app.router.routes.append(Route("/chat", view))
    return app


def host_of(kind: str, sample: Sample, fault: str, *, below: bool, **options: Any) -> Any:
    """The application, alone or below the middleware."""
    mounted: dict[str, Any] = {"speaks": sample.dialect, "answers": (sample.dialect, "standard"), **options}
    if kind in HOSTS:
        return HOSTS[kind](sample, fault, **(mounted if below else {}))
    if kind == "plain":
        app = plain(sample, fault)
        return StreamweirMiddleware(app, **mounted) if below else app
    made = FastAPI() if kind == "fastapi" else Starlette()
    framework(made, sample, fault)
    if below:
        made.add_middleware(StreamweirMiddleware, **mounted)
    made.add_middleware(CORSMiddleware, allow_origins=["*"])
    return made


def litestar_app(sample: Sample, fault: str, **mounted: Any) -> Any:
    from litestar import Litestar
    from litestar import get as get_route
    from litestar.exceptions import HTTPException as Refused
    from litestar.middleware.base import DefineMiddleware
    from litestar.response import Stream

    @get_route("/chat")
    async def chat() -> Stream:
        refuse_early(fault, Refused(status_code=403, detail="Please log in."))
        return Stream(answering(sample, fault), media_type=sample.media_type)

    layer: Any = StreamweirMiddleware
    layers = [DefineMiddleware(layer, **mounted)] if mounted else []
    return Litestar([chat], middleware=layers, logging_config=None)


def quart_app(sample: Sample, fault: str, **mounted: Any) -> Any:
    from quart import Quart, Response, abort

    app: Any = Quart("old")

    async def chat() -> Response:
        if fault == "refuse":
            abort(403)
        refuse_early(fault, Boom())
        return Response(answering(sample, fault), content_type=sample.media_type)

    app.add_url_rule("/chat", view_func=chat)
    if mounted:
        app.asgi_app = StreamweirMiddleware(app.asgi_app, **mounted)
    return app


BODIES: list[Any] = []


def django_app(sample: Sample, fault: str, **mounted: Any) -> Any:
    django: Any = importlib.import_module("django")  # it has no types
    settings: Any = importlib.import_module("django.conf").settings
    handlers: Any = importlib.import_module("django.core.handlers.asgi")
    http: Any = importlib.import_module("django.http")
    urls: Any = importlib.import_module("django.urls")
    exceptions: Any = importlib.import_module("django.core.exceptions")

    async def chat(request: Any) -> Any:
        refuse_early(fault, exceptions.PermissionDenied())
        return http.StreamingHttpResponse(answering(sample, fault), content_type=sample.media_type)

    class Handler(handlers.ASGIHandler):  # type: ignore[misc]
        """Notes the file of each request's body, which Django does not close in every case of failure."""

        async def read_body(self, receive: Any) -> Any:
            BODIES.append(await super().read_body(receive))
            return BODIES[-1]

    routes = (urls.path("chat", chat),)
    if not settings.configured:
        settings.configure(ALLOWED_HOSTS=["*"], LOGGING_CONFIG=None, ROOT_URLCONF=routes)
        django.setup()
    settings.ROOT_URLCONF = routes
    app = Handler()
    return StreamweirMiddleware(app, **mounted) if mounted else app


def refuse_early(fault: str, refusal: Exception) -> None:
    if fault == "raise-before":
        raise Boom
    if fault == "refuse":
        raise refusal


async def answering(sample: Sample, fault: str) -> AsyncIterator[bytes]:
    for frame in sample.frames if fault in ("good", "raise-behind") else sample.half:
        yield frame
        await asyncio.sleep(0)
    if fault.startswith("raise"):
        raise Boom


HOSTS = {"litestar": litestar_app, "quart": quart_app, "django": django_app}


class Seen(NamedTuple):
    """The response as a client has seen it."""

    status: int
    media_type: str | None
    is_whole: bool
    body: bytes

    @property
    def word(self) -> tuple[int, str | None, bool]:
        return self.status, self.media_type, self.is_whole


async def seen_by(app: Any, **headers: str) -> Seen:
    async with served(app) as host:
        answer = await get(host, headers=[("Accept", "*/*"), *headers.items()])
    return Seen(answer.status, answer.header("content-type"), answer.is_whole, answer.body)


@pytest.mark.parametrize("paths", [None, "/chat"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("dialect", OLD)
async def test_client_of_the_application_s_dialect_sees_the_same_with_and_without_the_middleware(
    dialect: str, fault: str, paths: str | None
) -> None:
    sample = sample_of(dialect)
    for kind in ("plain", "starlette", "fastapi"):
        if fault == "unended" and kind != "plain":
            continue
        alone = await seen_by(host_of(kind, sample, fault, below=False))
        below = await seen_by(host_of(kind, sample, fault, below=True, paths=paths))
        assert below.word == alone.word, (kind, below, alone)
        if fault == "raise-behind":  # a stream without final evidence gets the dialect's error
            assert below.body.startswith(alone.body)
        elif fault in ("good", "raise-before", "refuse"):
            assert below.body == alone.body
        else:  # the dialect's error is all that is added
            assert below.body.startswith(alone.body)
            assert len(below.body) > len(alone.body)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "unended"])
@pytest.mark.parametrize("kind", HOSTS)
async def test_other_frameworks_fail_alike_with_and_without_the_middleware(kind: str, fault: str) -> None:
    sample = sample_of("legacy")
    alone = await seen_by(host_of(kind, sample, fault, below=False))
    below = await seen_by(host_of(kind, sample, fault, below=True))
    while BODIES:
        BODIES.pop().close()
    assert below.word == alone.word
    assert below.body.startswith(alone.body)


@pytest.mark.parametrize("speaks", ["legacy", "auto"])
async def test_failure_before_the_first_byte_is_a_status(speaks: str) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(start())
        raise Boom

    mounted = StreamweirMiddleware(app, speaks=speaks, answers=("legacy", "standard"), paths="/chat")
    seen = await seen_by(mounted)
    assert (seen.status, seen.is_whole) == (500, True)


@pytest.mark.parametrize("told", [{"failures": "told"}, {"protocol": "standard"}])
async def test_other_clients_get_an_error_event_and_a_proper_end(told: dict[str, str]) -> None:
    sample = sample_of("legacy")
    options = {} if "protocol" in told else told
    headers = {"X-Streamweir-Protocol": told["protocol"]} if "protocol" in told else {}
    for fault in ("raise-before", "raise-within", "unended", "cut"):
        app = host_of("plain", sample, fault, below=True, paths="/chat", **options)
        seen = await seen_by(app, **headers)
        assert (seen.status, seen.is_whole) == (200, True)
        assert b"error" in seen.body


# Clients of old pages and programs


async def by_httpx(url: str) -> str:
    async with httpx.AsyncClient(trust_env=False) as asking, asking.stream("GET", url) as response:
        if response.is_error:
            return str(response.status_code)
        try:
            async for _ in response.aiter_bytes():
                pass
        except httpx.RemoteProtocolError:
            return "broken"
    return "whole"


WORDS = {
    "raise-before": "500",
    "refuse": "403",
    "raise-within": "broken",
    "unended": "broken",
    "cut": "whole",
    "good": "whole",
}


@pytest.mark.parametrize("fault", WORDS)
async def test_programs_and_pages_report_alike_with_and_without_the_middleware(fault: str) -> None:
    clients = [by_httpx]
    clients += [by_curl] if shutil.which("curl") else []
    clients += [by_fetch] if shutil.which("node") else []
    sample = sample_of("legacy")
    for below in (False, True):
        async with served(host_of("plain", sample, fault, below=below)) as host:
            url = f"http://127.0.0.1:{host.address[1]}/chat"
            said = [await ask(url) for ask in clients]
        assert said == [WORDS[fault]] * len(clients)


async def test_whole_middleware_stack_keeps_cors_headers_of_a_failure() -> None:
    app = Starlette(middleware=[Middleware(CORSMiddleware, allow_origins=["*"])])
    framework(app, sample_of("legacy"), "cut")
    app.add_middleware(StreamweirMiddleware, speaks="legacy", answers="legacy")
    async with served(app) as host:
        answer = await get(host, headers=[("Origin", "https://page.example")])
    assert answer.header("access-control-allow-origin") == "*"
