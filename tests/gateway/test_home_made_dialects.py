"""Home-made dialects in a running gateway: what upstreams are asked, and what clients get."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from loopback import ask, gateway, settled
from patience import PATIENCE, until
from running_gateway import running_gateway
from scripted_upstream import Call, answer, upstream
from streamweir.codec.dialects import Dialects

pytestmark = pytest.mark.anyio

CHUNK = {"data": {"kind": "chunk", "body": {"text": "${{ content }}"}}}
ACME: dict[str, Any] = {
    "framing": "sse",
    "rules": [
        {"match": {"kind": "chunk"}, "emit": {"type": "content", "content": "${{ body.text }}"}},
        {"match": {"kind": "bye"}, "emit": {"type": "session_end"}},
    ],
    "write": {
        "rules": [
            {"on": "content", "when": "content", "send": CHUNK},
            {"on": "session_end", "send": [{"data": {"kind": "bye"}}]},
        ]
    },
}
LINES: dict[str, Any] = {
    "framing": "lines",
    "rules": [{"prefix": "TOK ", "emit": {"type": "content", "content": "${{ _text }}"}}],
    "terminal": ["END"],
    "write": {
        "rules": [
            {"on": "content", "when": "content", "send": "TOK ${{ content }}"},
            {"on": "session_end", "send": "END"},
        ]
    },
}
BODY = b"".join(b'data: {"kind": "chunk", "body": {"text": "%b"}}\n\n' % text for text in (b"Hel", b"lo"))
BYE = b'data: {"kind": "bye"}\n\n'


def config(url: str, speaks: str = "acme", **options: Any) -> Any:
    dialects = {"acme": ACME, "lines": LINES, "plain": {"framing": "text"}}
    endpoint = {"upstream": url, "speaks": speaks, **options}
    return settled(Dialects.built_in(), dialects=dialects, endpoints={"/chat": endpoint})


async def test_home_made_stream_is_returned_in_the_standard_protocol() -> None:
    async with upstream(answer(BODY + BYE)) as server, gateway(config(server.url)) as running:
        got = (await ask(running)).assert_valid()
    assert (got.text, got.end["status"]) == ("Hello", "completed")
    assert server.call.header("accept") == "text/event-stream"


async def test_home_made_stream_for_its_own_clients_is_in_its_dialect() -> None:
    async with (
        upstream(answer(BODY + BYE)) as server,
        gateway(config(server.url, answers=["acme", "legacy", "lines"])) as running,
    ):
        got = await ask(running)
        lines = await ask(running, headers=[("X-Streamweir-Protocol", "lines")])
        legacy = await ask(running, headers=[("X-Streamweir-Protocol", "legacy")])
    assert [json.loads(line[6:]) for line in got.body.decode().split("\n\n") if line] == [
        {"kind": "chunk", "body": {"text": "Hel"}},
        {"kind": "chunk", "body": {"text": "lo"}},
        {"kind": "bye"},
    ]
    assert lines.body == b"TOK Hel\nTOK lo\nEND\n"
    assert lines.header("content-type") == "text/plain; charset=utf-8"
    assert b'"type":"token","content":"Hel"' in legacy.body


@pytest.mark.parametrize("media_type", ["text/plain", "text/plain; charset=utf-8", "text/html", None])
@pytest.mark.parametrize(("speaks", "body"), [("lines", b"TOK Hel\nTOK lo\nEND"), ("plain", b"Hello")])
async def test_plain_text_with_any_or_no_content_type_is_read(
    speaks: str, body: bytes, media_type: str | None
) -> None:
    headers = [f"Content-Type: {media_type}"] if media_type else []
    head = "\r\n".join(["HTTP/1.1 200 OK", *headers, f"Content-Length: {len(body)}", "", ""])
    async with upstream(head.encode() + body) as server, gateway(config(server.url, speaks)) as running:
        got = (await ask(running)).assert_valid()
    assert (got.text, got.end["status"]) == ("Hello", "completed")
    assert server.call.header("accept") == "text/plain, */*;q=0.5"


@pytest.mark.parametrize(
    ("options", "accept", "framing"),
    [
        ({"verbatim": False}, "*/*", "ndjson"),
        ({}, "*/*", "sse"),  # what the upstream of the same dialect has
        ({}, "text/event-stream", "sse"),
        ({"framing": "sse"}, "*/*", "sse"),
        ({"framing": "sse"}, "application/x-ndjson", "ndjson"),
    ],
)
async def test_first_framing_of_a_dialect_is_the_default(
    options: dict[str, Any], accept: str, framing: str
) -> None:
    dialects = {"acme": {**ACME, "write": {**ACME["write"], "framing": ["ndjson", "sse"]}}}
    async with upstream(answer(BODY + BYE)) as server:
        endpoint = {"upstream": server.url, "speaks": "acme", "answers": ["acme"], **options}
        config = settled(Dialects.built_in(), dialects=dialects, endpoints={"/chat": endpoint})
        async with gateway(config) as running:
            got = await ask(running, headers=[("Accept", accept)])
    assert got.framing == framing


async def test_home_made_stream_that_breaks_off_is_truncated() -> None:
    async with upstream(answer(BODY)) as server, gateway(config(server.url)) as running:
        got = (await ask(running)).assert_valid()
    assert (got.end["status"], got.end["reason"]) == ("error", "truncated")


async def test_demo_of_a_home_made_dialect_plays() -> None:
    async with gateway(config("demo:acme")) as running:
        got = (await ask(running)).assert_valid()
    assert got.end["status"] == "completed"
    assert got.text


async def serves(folder: Path, *, workers: int) -> None:
    """Serve a dialect in a file of its own, and another one once the file has changed."""
    (folder / "dialects").mkdir()
    file = folder / "dialects" / "acme.yaml"
    file.write_text(json.dumps(ACME))
    body = BODY + b'data: {"kind": "fin"}\n\n'

    async def any_number(call: Call) -> None:
        await call.send(answer(body))

    async with (
        upstream(any_number) as server,
        running_gateway(
            folder,
            dialects={"acme": {"file": "dialects/acme.yaml"}},
            endpoints={"/chat": {"upstream": server.url, "speaks": "acme"}},
            server={"workers": workers},
        ) as running,
    ):
        await running.ready()
        assert (await ask(running.at)).assert_valid().end["reason"] == "truncated"
        file.write_text(json.dumps({**ACME, "rules": [{"emit": {"type": "contnt"}}]}))
        running.signal(signal.SIGHUP)
        assert "unknown type 'contnt'" in (await running.says("not taken over"))["event"]
        assert (await ask(running.at)).assert_valid().text == "Hello"
        file.write_text(json.dumps({**ACME, "terminal": ["fin"]}))
        running.signal(signal.SIGHUP)
        async with asyncio.timeout(PATIENCE):
            while (await ask(running.at)).assert_valid().end["reason"] != "done":  # noqa: ASYNC110
                await asyncio.sleep(0.1)  # another process is watched


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
async def test_changed_file_of_a_dialect_is_taken_over(tmp_path: Path, workers: int) -> None:
    await serves(tmp_path, workers=workers)


@pytest.mark.slow
async def test_watched_file_of_a_dialect_needs_no_signal(tmp_path: Path) -> None:
    (tmp_path / "dialects").mkdir()
    file = tmp_path / "dialects" / "acme.yaml"
    file.write_text(json.dumps(ACME))
    async with (
        upstream(answer(BODY)) as server,
        running_gateway(
            tmp_path,
            "--reload",
            dialects={"acme": {"file": "dialects/acme.yaml"}},
            endpoints={"/chat": {"upstream": server.url, "speaks": "acme"}},
        ) as running,
    ):
        await running.ready()

        async def is_noticed() -> bool:
            file.write_text("rules: [")  # again and again: the watcher starts beside the gateway
            await asyncio.sleep(0.5)
            return any("not taken over" in line["event"] for line in running.told)

        await until(is_noticed)
        assert "acme.yaml" in (await running.says("not taken over"))["event"]
