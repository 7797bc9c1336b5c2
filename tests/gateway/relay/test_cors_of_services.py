"""CORS of a service behind `relay: all` is its own affair; `cors` speaks where the service says nothing."""

from typing import Any

import pytest

from loopback import Answer, ask, gateway, settled
from scripted_upstream import LAST_CHUNK, Call, Script, answer, chunk, upstream

pytestmark = pytest.mark.anyio

APP = "https://app.example"
PARTNER = "https://partner.example"
OURS = {"origins": [APP], "credentials": True}
THEIRS = ("Access-Control-Allow-Origin: https://partner.example", "Access-Control-Allow-Credentials: true")


def from_page(origin: str) -> list[tuple[str, str]]:
    return [("Origin", origin)]


def preflight(origin: str) -> list[tuple[str, str]]:
    return [*from_page(origin), ("Access-Control-Request-Method", "POST")]


async def asked(script: Script | bytes, *request: Any, origin: str, **file: Any) -> tuple[Answer, list[Call]]:
    method, headers = request or ("POST", from_page(origin))
    async with upstream(script) as server:
        endpoint = {"upstream": server.url, "relay": "all", "speaks": "legacy"}
        async with gateway(settled(endpoints={"/*": endpoint}, **{"cors": OURS, **file})) as running:
            got = await ask(running, method, "/x", headers=headers, body=b"")
        return got, server.calls


def cors_of(got: Answer) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in got.headers:
        if name.startswith("access-control-allow-"):
            found.setdefault(name.removeprefix("access-control-allow-"), []).append(value)
    return found


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
DONE = b'data: {"type": "token", "content": "Hi"}\n\ndata: {"type": "done"}\n\n'


def stream(*headers: str) -> bytes:
    return STREAM + b"".join(f"{line}\r\n".encode() for line in headers) + b"\r\n" + chunk(DONE) + LAST_CHUNK


@pytest.mark.parametrize("kind", ["page", "stream"])
async def test_answer_of_a_service_that_speaks_of_cors_keeps_its_headers(kind: str) -> None:
    script = answer(b"ok", *THEIRS) if kind == "page" else stream(*THEIRS)
    got, _ = await asked(script, origin=APP)
    assert got.status == 200
    assert cors_of(got) == {"origin": [PARTNER], "credentials": ["true"]}


@pytest.mark.parametrize("kind", ["page", "stream"])
async def test_answer_of_a_service_that_does_not_gets_those_of_the_file(kind: str) -> None:
    script = answer(b"ok") if kind == "page" else stream()
    got, _ = await asked(script, origin=APP)
    assert cors_of(got) == {"origin": [APP], "credentials": ["true"]}


async def test_preflight_goes_to_the_service_first() -> None:
    theirs = answer(b"", *THEIRS, "Access-Control-Allow-Methods: POST", status="204 No Content")
    for origin in (APP, PARTNER):
        got, calls = await asked(theirs, "OPTIONS", preflight(origin), origin=origin)
        assert [call.method for call in calls] == ["OPTIONS"]
        assert cors_of(got) == {"origin": [PARTNER], "credentials": ["true"], "methods": ["POST"]}


async def test_preflight_is_answered_by_the_file_where_the_service_has_no_answer() -> None:
    for script in (answer(b"", status="405 Method Not Allowed"), answer(b"hello"), b""):
        got, calls = await asked(script, "OPTIONS", preflight(APP), origin=APP)
        assert calls
        assert got.status == 204
        assert cors_of(got)["origin"] == [APP]
        assert not got.body


async def test_preflight_of_another_origin_gets_the_services_answer_as_it_is() -> None:
    got, _ = await asked(
        answer(b"no", status="405 Method Not Allowed"), "OPTIONS", preflight(PARTNER), origin=PARTNER
    )
    assert (got.status, got.body) == (405, b"no")
    assert not cors_of(got)


async def test_preflight_does_not_reach_a_service_where_keys_are_asked_for() -> None:
    keys = {"auth": {"keys": {"web": "a-key-of-the-pages"}}}
    got, calls = await asked(answer(b"", *THEIRS), "OPTIONS", preflight(APP), origin=APP, **keys)
    assert got.status == 204
    assert cors_of(got)["origin"] == [APP]
    assert not calls
