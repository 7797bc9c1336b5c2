"""An EventSource: every event of an answer to a GET has an id, and one that comes back gets 204."""

import re
from typing import Any, Final

import pytest

from cases import case
from loopback import ask, gateway, settled
from scripted_upstream import LAST_CHUNK, Call, chunk, upstream
from streams import Recorded, recorded_streams
from streamweir.codec.registry import process_dialects

pytestmark = pytest.mark.anyio

HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
OWN_ID: Final = re.compile(rb"id: \d+(\r\n|\n|\r)")


def each_dialect() -> list[Recorded]:
    """One recorded stream of each dialect that is written as SSE too."""
    found: dict[str, Recorded] = {}
    for recorded in recorded_streams():
        dialect = process_dialects().get(recorded.dialect)
        is_written = dialect is not None and dialect.encoder is not None
        if recorded.path.suffix == ".sse" and is_written and not recorded.options:
            found.setdefault(recorded.dialect, recorded)
    return [*found.values()]


def with_methods(url: str, dialect: str, **options: Any) -> Any:
    shared = {"upstream": url, "speaks": dialect, "methods": ["GET", "POST"], **options}
    return settled(
        endpoints={
            "/standard": shared,
            "/copied": {**shared, "answers": [dialect]},
            "/written": {**shared, "answers": [dialect], "verbatim": False},
            "/relayed": {**shared, "answers": [dialect], "relay": "all"},
        }
    )


def events_in(body: bytes) -> list[list[bytes]]:
    """The lines of each event, as a browser reads the body."""
    text = body.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    blocks = [
        [line for line in block.split(b"\n") if line[:1] not in (b"", b":")] for block in text.split(b"\n\n")
    ]
    return [block for block in blocks if block]


def ids_in(body: bytes) -> list[bytes | None]:
    found = []
    for lines in events_in(body):
        values = [line.partition(b":")[2].strip() for line in lines if line.partition(b":")[0] == b"id"]
        assert len(values) <= 1, lines
        found.append(values[0] if values else None)
    return found


@pytest.mark.parametrize("recorded", each_dialect(), ids=lambda recorded: recorded.dialect)
async def test_every_event_of_an_answer_to_a_get_has_an_id(recorded: Recorded) -> None:
    async def play(call: Call) -> None:
        body, size = recorded.body, max(1, len(recorded.body) // 7)
        pieces = [body[start : start + size] for start in range(0, len(body), size)]
        await call.send(HEAD, *map(chunk, pieces), LAST_CHUNK)

    async with upstream(play) as server, gateway(with_methods(server.url, recorded.dialect)) as running:
        for target in ("/standard", "/copied", "/written"):
            with case(target):
                got = await ask(running, "GET", target, headers=[("Accept", "text/event-stream")], body=b"")
                posted = await ask(running, "POST", target, headers=[("Accept", "text/event-stream")])
                assert got.is_whole == posted.is_whole
                ids = ids_in(got.body)
                assert ids
                if target == "/standard" or None in ids_in(posted.body):
                    assert ids == [b"%d" % number for number in range(len(ids))]
                if target == "/copied" and recorded.body in posted.body:
                    assert OWN_ID.sub(b"", got.body) == OWN_ID.sub(b"", posted.body)
        relayed = await ask(running, "GET", "/relayed", headers=[("Accept", "text/event-stream")], body=b"")
        assert events_in(relayed.body)
        assert recorded.dialect == "standard" or {*ids_in(relayed.body)} <= {None, *ids_in(recorded.body)}


async def test_event_source_that_comes_back_gets_204_and_runs_nothing() -> None:
    async with upstream(b"") as server, gateway(with_methods(server.url, "legacy")) as running:
        for target in ("/standard", "/copied"):
            got = await ask(running, "GET", target, headers=[("Last-Event-ID", "3")], body=b"")
            assert (got.status, got.body) == (204, b"")
        assert server.connections == 0


async def test_last_event_id_that_is_empty_or_of_a_post_runs_the_agent() -> None:
    whole = (
        HEAD + chunk(b'data: {"type": "token", "content": "Hi"}\n\ndata: {"type": "done"}\n\n') + LAST_CHUNK
    )
    run = "run_" + "5a" * 16
    for resume in ("off", "on"):
        async with upstream(whole) as server:
            endpoints = {
                "/standard": {
                    "upstream": server.url,
                    "speaks": "legacy",
                    "methods": ["GET", "POST"],
                    "resume": resume,
                }
            }
            async with gateway(settled(endpoints=endpoints)) as running:
                foreign = [("POST", value) for value in ("3", "abc", "", "run_1.2", "a\tb")]
                for method, value in [*foreign, ("GET", "")]:
                    with case(resume, method, value):
                        got = await ask(running, method, "/standard", headers=[("Last-Event-ID", value)])
                        assert got.assert_valid().text == "Hi"
                if resume == "on":
                    headers = [("X-Streamweir-Run", run), ("Last-Event-ID", "not-ours")]
                    assert (
                        await ask(running, "POST", "/standard", headers=headers)
                    ).assert_valid().text == "Hi"


async def test_relayed_service_gets_the_last_event_id() -> None:
    async with upstream(HEAD + LAST_CHUNK) as server, gateway(with_methods(server.url, "legacy")) as running:
        got = await ask(running, "GET", "/relayed", headers=[("Last-Event-ID", "7")], body=b"")
        assert got.status == 200
        assert server.call.header("last-event-id") == "7"
