"""The usage that only the gateway asks an upstream for is not shown to the client."""

import json
from typing import Any

import pytest

from loopback import Answer, ask, gateway, settled
from scripted_upstream import answer, upstream

pytestmark = pytest.mark.anyio


def chunk(**fields: Any) -> str:
    message = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}
    return f"data: {json.dumps({**message, **fields})}\n\n"


USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
STREAM = "".join(
    [
        chunk(choices=[{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": None}]),
        chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}]),
        chunk(usage=USAGE),
        "data: [DONE]\n\n",
    ]
)


async def asked(
    body: dict[str, Any], *, protocol: str = "openai-chat", stream: str = STREAM, **options: Any
) -> Answer:
    async with upstream(answer(stream.encode(), "Content-Type: text/event-stream")) as server:
        endpoint = {"upstream": server.url, "speaks": "openai-chat", "answers": [protocol], **options}
        async with gateway(settled(endpoints={"/chat": endpoint})) as running:
            said = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9, **body}
            return await ask(running, body=json.dumps(said).encode())


@pytest.mark.parametrize("verbatim", [True, False])
@pytest.mark.parametrize("options", [None, {}, {"include_usage": False}, {"include_usage": True}])
async def test_usage_chunk_is_sent_only_if_the_client_asked(verbatim: bool, options: Any) -> None:
    body = {"stream": True} if options is None else {"stream": True, "stream_options": options}
    got = await asked(body, request="mapped", verbatim=verbatim)
    assert b"[DONE]" in got.body
    assert b'"Hi"' in got.body
    assert (b"total_tokens" in got.body) == bool(options and options["include_usage"])


@pytest.mark.parametrize("options", [None, {"include_usage": False}])
async def test_passthrough_sends_the_usage_chunk(options: Any) -> None:
    body = {"stream": True, **({"stream_options": options} if options else {})}
    assert (await asked(body)).body == STREAM.encode()


async def test_whole_answers_and_other_protocols_keep_the_usage() -> None:
    whole = await asked({"stream": False}, request="mapped")
    assert whole.json["usage"] == USAGE
    other = await asked({"stream": True}, protocol="anthropic", request="mapped")
    assert b'"output_tokens":4' in other.body


@pytest.mark.parametrize(
    "choices",
    [
        None,
        [{"index": 0, "delta": {}}],
        [{"index": 0, "delta": {}, "finish_reason": None, "logprobs": None}],
        [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}],
    ],
)
@pytest.mark.parametrize("verbatim", [True, False])
async def test_usage_chunk_of_other_servers_is_counted_and_not_sent(verbatim: bool, choices: Any) -> None:
    stream = STREAM.replace(chunk(usage=USAGE), chunk(usage=USAGE, choices=choices))
    body = {"stream": True}
    got = await asked(body, request="mapped", verbatim=verbatim, stream=stream)
    assert b'"Hi"' in got.body
    assert b"total_tokens" not in got.body
    counted = await asked(body, request="mapped", protocol="anthropic", stream=stream)
    assert b'"output_tokens":4' in counted.body


async def test_chunks_with_more_than_their_usage_are_sent() -> None:
    first = chunk(choices=[{"index": 0, "delta": {"role": "assistant", "content": ""}}], usage=USAGE)
    last = chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}], usage=USAGE)
    text = chunk(choices=[{"index": 0, "delta": {"content": "Hi"}}])
    got = await asked({"stream": True}, request="mapped", stream=f"{first}{text}{last}data: [DONE]\n\n")
    assert first.encode() in got.body
    assert last.encode() in got.body
