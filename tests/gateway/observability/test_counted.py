"""Keys, models and tokens: in the log line and in the metrics, of every stream, once per run."""

import json
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from loopback import Answer, Gateway, ask, client, gateway, settled
from running_gateway import running_gateway
from scraped_metrics import Samples, samples
from scripted_upstream import LAST_CHUNK, SSE, Call, answer, chunk, upstream

pytestmark = pytest.mark.anyio

NOBODY: Final = "http://127.0.0.1:9"
WEB, BATCH = "sk-web-4711-secret", "sk-batch-0815-secret"
KEYS: Final = {"keys": {"web": WEB, "batch": BATCH}}
CHAT: Final = "/v1/chat/completions"
COUNTS: Final = ("prompt_tokens", "completion_tokens", "total_tokens")


def piece(**fields: Any) -> bytes:
    said = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}
    return b"data: %b\n\n" % json.dumps({**said, **fields}).encode()


TEXT: Final = piece(choices=[{"index": 0, "delta": {"role": "assistant", "content": "Hi"}}])
STOP: Final = piece(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
DONE: Final = b"data: [DONE]\n\n"


def usage(prompt: Any = 3, completion: Any = 4) -> bytes:
    return piece(usage={"prompt_tokens": prompt, "completion_tokens": completion})


FINISHED: Final = SSE + b"".join(map(chunk, (TEXT, STOP, usage(), DONE))) + LAST_CHUNK


def with_models(url: str, **options: Any) -> dict[str, Any]:
    """An endpoint with a model, an alias of it and another one."""
    models = {"bot": "llm", "gpt-4o": {"alias": "bot"}, "dead": NOBODY}
    chat = {"models": models, "speaks": "openai-chat", "answers": ["openai-chat", "standard"], **options}
    return {"upstreams": {"llm": {"url": url}}, "endpoints": {CHAT: chat}, "auth": KEYS}


async def post(running: Gateway, model: str = "bot", *, key: str = WEB, **body: Any) -> Answer:
    said = {"model": model, "stream": True, "messages": [{"role": "user", "content": "hi"}], **body}
    headers = [("Authorization", f"Bearer {key}")]
    return await ask(running, target=CHAT, headers=headers, body=json.dumps(said).encode())


def tokens(shown: Samples, **labels: str) -> tuple[float, float]:
    prompt, completion = (shown.get("tokens_total", kind=kind, **labels) for kind in ("prompt", "completion"))
    return prompt, completion


@pytest.mark.parametrize("options", [{}, {"request": "mapped"}, {"request": "mapped", "verbatim": False}])
async def test_finished_stream_is_counted_by_key_and_model(options: dict[str, Any]) -> None:
    async with (
        upstream(FINISHED) as server,
        gateway(settled(**with_models(server.url, **options))) as running,
    ):
        for model, key in (("bot", WEB), ("gpt-4o", WEB), ("bot", BATCH)):
            assert (await post(running, model, key=key)).status == 200
            line = await running.log.next_line()
            assert (line["model"], line["key"]) == (model, "web" if key == WEB else "batch")
            assert [line[name] for name in COUNTS] == [3, 4, 7]
        shown = await samples(running)
    assert tokens(shown, endpoint=CHAT, model="gpt-4o", key="web") == (3, 4)
    assert tokens(shown, endpoint=CHAT, model="bot", key="batch") == (3, 4)
    assert tokens(shown) == (9, 12)
    assert shown.get("requests_total", model="gpt-4o", key="web", status="200", code="") == 1


async def test_alias_is_the_model_of_the_answer() -> None:
    async with (
        upstream(FINISHED) as server,
        gateway(settled(**with_models(server.url, verbatim=False))) as running,
    ):
        got = await post(running, "gpt-4o")
    assert b'"model":"gpt-4o"' in got.body
    assert b'"model":"m"' not in got.body


async def test_usage_chunk_that_only_the_gateway_asked_for_is_counted_and_kept() -> None:
    async with (
        upstream(FINISHED) as server,
        gateway(settled(**with_models(server.url, request="mapped"))) as running,
    ):
        got = await post(running)
        line = await running.log.next_line()
    assert b"usage" not in got.body
    assert json.loads(server.call.body)["stream_options"] == {"include_usage": True}
    assert [line[name] for name in COUNTS] == [3, 4, 7]


@pytest.mark.parametrize("protocol", ["openai-chat", "standard"])
async def test_stream_that_breaks_off_is_counted_as_far_as_it_was_reported(protocol: str) -> None:
    async def breaks(call: Call) -> None:
        await call.send(SSE, chunk(TEXT), chunk(usage()))

    async with upstream(breaks) as server, gateway(settled(**with_models(server.url))) as running:
        headers = [("X-Api-Key", WEB), ("X-Streamweir-Protocol", protocol)]
        await ask(running, target=CHAT, headers=headers, body=b'{"model": "bot"}')
        line = await running.log.next_line()
        shown = await samples(running)
    assert (line["code"], line["prompt_tokens"], line["total_tokens"]) == ("UPSTREAM_TRUNCATED", 3, 7)
    assert tokens(shown, model="bot", key="web") == (3, 4)


async def test_stream_whose_client_leaves_is_counted_as_far_as_it_was_reported() -> None:
    async def stalls(call: Call) -> None:
        await call.send(SSE, chunk(TEXT), chunk(usage(5, 1)))
        await call.until_closed()

    async with upstream(stalls) as server, gateway(settled(**with_models(server.url))) as running:
        async with client(running) as leaving:
            leaving.send(target=CHAT, headers=[("X-Api-Key", WEB)], body=b'{"model": "gpt-4o"}')
            await leaving.until(b'"completion_tokens": 1')
        line = await running.log.next_line()
        shown = await samples(running)
    assert (line["reason"], line["model"]) == ("client_gone", "gpt-4o")
    assert [line[name] for name in COUNTS] == [5, 1, 6]
    assert tokens(shown, model="gpt-4o", key="web") == (5, 1)


async def test_client_that_leaves_during_a_held_opening_is_counted_as_far_as_it_was_reported() -> None:
    role = piece(choices=[{"index": 0, "delta": {"role": "assistant"}}])
    sent = anyio.Event()

    async def stalls(call: Call) -> None:
        await call.send(SSE, chunk(role), chunk(usage(5, 1)))
        sent.set()
        await call.until_closed()

    async with upstream(stalls) as server:
        config = with_models(server.url)
        config["endpoints"][CHAT].update(models={"bot": ["llm", NOBODY]})
        async with gateway(settled(**config)) as running:
            async with client(running) as leaving:
                leaving.send(target=CHAT, headers=[("X-Api-Key", WEB)], body=b'{"model": "bot"}')
                await sent.wait()
                await anyio.sleep(0.1)
            line = await running.log.next_line()
            shown = await samples(running)
    assert (line["reason"], line["attempts"]) == ("client_gone", 1)
    assert [line[name] for name in COUNTS] == [5, 1, 6]
    assert line["bytes_in"] == len(role) + len(usage(5, 1))
    assert 0 < line["first_event_ms"] < line["duration_ms"]
    assert tokens(shown, model="bot", key="web") == (5, 1)


async def test_attempt_that_was_given_up_is_not_counted() -> None:
    async def fails(call: Call) -> None:
        await call.send(answer(usage(1000, 1000), "Content-Type: text/event-stream", status="503 Busy"))

    async with upstream(fails) as first, upstream(FINISHED) as second:
        file = with_models(first.url)
        file["endpoints"][CHAT]["models"]["bot"] = [first.url, second.url]
        async with gateway(settled(**file)) as running:
            await post(running)
            line = await running.log.next_line()
            shown = await samples(running)
    assert (line["attempts"], line["total_tokens"]) == (2, 7)
    assert tokens(shown) == (3, 4)


@pytest.mark.parametrize("bad", [-1, "7", [7], {"a": 1}, None, True, 2**60])
async def test_usage_that_is_no_count_is_left_out(bad: Any) -> None:
    stream = SSE + b"".join(map(chunk, (TEXT, STOP, usage(bad, 4), DONE))) + LAST_CHUNK
    async with upstream(stream) as server, gateway(settled(**with_models(server.url))) as running:
        await post(running)
        line = await running.log.next_line()
        shown = await samples(running)
    assert [line.get(name) for name in COUNTS] == [None, 4, None]
    assert (line["reason"], line["level"]) == ("done", "info")
    assert tokens(shown) == (0, 4)


async def test_refused_requests_have_no_model_and_labels_of_the_file_only() -> None:
    long = "m" * 65536
    async with gateway(settled(**with_models(NOBODY))) as running:
        assert (await post(running, key="sk-wrong-key-of-a-client")).status == 401
        for unknown in ("gpt-5", long, "bot\n"):
            assert (await post(running, unknown)).status == 404
            assert "model" not in await running.log.next_line()
        assert (await post(running, "dead")).status >= 500
        shown = await samples(running)
    assert shown.get("requests_total", status="401", model="", key="") == 1
    assert shown.get("requests_total", status="404", model="", key="web") == 3
    assert shown.label_values("model") <= {"", "dead"}
    assert shown.label_values("key") <= {"", "web"}


async def test_open_endpoint_has_no_key() -> None:
    file = with_models(NOBODY)
    async with upstream(FINISHED) as server:
        file["endpoints"]["/open"] = {"upstream": server.url, "speaks": "openai-chat", "auth": "open"}
        async with gateway(settled(**file)) as running:
            await ask(running, target="/open", headers=[("Authorization", f"Bearer {WEB}")])
            line = await running.log.next_line()
            shown = await samples(running)
    assert "key" not in line
    assert "model" not in line
    assert line["total_tokens"] == 7
    assert tokens(shown, endpoint="/open", key="", model="") == (3, 4)


async def test_agent_stream_of_a_relayed_service_is_counted() -> None:
    async with upstream(FINISHED) as server:
        old = {"upstream": server.url, "speaks": "openai-chat", "relay": "all", "answers": ["openai-chat"]}
        async with gateway(settled(endpoints={"/old/*": old}, auth=KEYS)) as running:
            await ask(running, target="/old/chat", headers=[("X-Api-Key", BATCH)])
            line = await running.log.next_line()
            shown = await samples(running)
    assert (line["key"], line["total_tokens"]) == ("batch", 7)
    assert tokens(shown, endpoint="/old/*", key="batch") == (3, 4)


async def test_kept_run_is_counted_once() -> None:
    endpoint = {"upstream": NOBODY, "speaks": "openai-chat", "resume": "on"}
    async with upstream(FINISHED) as server:
        endpoint["upstream"] = server.url
        async with gateway(settled(endpoints={"/chat": endpoint}, auth=KEYS)) as running:
            key = ("X-Api-Key", WEB)
            got = await ask(running, headers=[key])
            first = await running.log.next_line()
            handle = got.header("x-streamweir-run")
            assert handle is not None
            await ask(running, "GET", f"/-/runs/{handle}", headers=[key], body=b"")
            again = await running.log.next_line()
            await ask(running, headers=[key, ("X-Streamweir-Run", handle)])
            joined = await running.log.next_line()
            shown = await samples(running)
    assert [first[name] for name in COUNTS] == [3, 4, 7]
    assert again["resumes"] == joined["resumes"] == first["request_id"]
    assert not {*COUNTS} & {*again, *joined}
    assert tokens(shown, endpoint="/chat", key="web") == (3, 4)


@pytest.mark.slow
async def test_tokens_of_all_workers_are_shown_together(tmp_path: Path) -> None:
    async with upstream(FINISHED) as server:
        file = {**with_models(server.url), "server": {"workers": 2}}
        async with running_gateway(tmp_path, **file) as running:
            await running.ready()
            for turn in range(12):
                await post(running.at, ("bot", "gpt-4o")[turn % 2], key=(WEB, BATCH)[turn % 3 == 0])
            shown = await samples(running.at)
            await running.says("request")
            lines = [line for line in running.told if line["event"] == "request"]
    assert tokens(shown) == (36, 48)
    assert shown.get("requests_total", endpoint=CHAT, model="bot") == 6
    assert shown.get("requests_total", endpoint=CHAT, key="batch") == 4
    assert all(line["total_tokens"] == 7 and line["model"] and line["key"] for line in lines)
