"""Endpoints whose upstream is chosen by the model that an OpenAI or Anthropic client names."""

import json
from typing import Any

import pytest

from loopback import Answer, Gateway, ask, gateway, settled
from scripted_upstream import SSE, WHOLE, Call, chunk, upstream
from streamweir_gateway.config import ConfigErrors
from streamweir_gateway.requests.dropped_parameters import DROPPED_PARAMETERS

pytestmark = pytest.mark.anyio

NOBODY = "http://127.0.0.1:9"
WEB, ALL = "sk-web-4711-secret", "sk-all-0815-secret"
OTHER = (
    SSE + chunk(b'data: {"type": "token", "content": "Other"}\n\ndata: {"type": "done"}\n\n') + b"0\r\n\r\n"
)
ASKED = {"messages": [{"role": "user", "content": "Hello"}]}


async def by_path(call: Call) -> None:
    """A backend with another answer at `/other`."""
    await call.send(OTHER if call.target == "/other" else WHOLE)


def door(url: str, **file: Any) -> dict[str, Any]:
    """The three endpoints of a base URL `/v1`, with the same two models."""
    models = {"bot": "old", "other": {"upstream": url, "path": "/other", "request": "mapped"}}
    chat = {"models": models, "speaks": "legacy"}
    return {
        "upstreams": {"old": {"url": url}},
        "endpoints": {
            "/v1/chat/completions": {**chat, "answers": ["openai-chat"]},
            "/v1/responses": {**chat, "answers": ["openai-responses"]},
            "/v1/messages": {**chat, "answers": ["anthropic"]},
        },
        **file,
    }


async def post(running: Gateway, target: str, body: dict[str, Any], *, key: str | None = None) -> Answer:
    headers = [("Content-Type", "application/json"), ("Accept", "application/json")]
    if key is not None:
        headers.append(("Authorization", f"Bearer {key}"))
    return await ask(running, target=target, body=json.dumps(body).encode(), headers=headers)


async def get(running: Gateway, target: str, *headers: tuple[str, str]) -> Answer:
    return await ask(running, method="GET", target=target, headers=list(headers))


async def test_model_chooses_the_upstream_and_its_request() -> None:
    async with upstream(by_path) as server, gateway(settled(**door(server.url))) as running:
        got = await post(running, "/v1/chat/completions", {"model": "bot", **ASKED})
        assert got.json["choices"][0]["message"]["content"] == "Hello"
        assert got.json["model"] == "bot"
        assert json.loads(server.calls[0].body) == {"model": "bot", **ASKED}
        got = await post(running, "/v1/chat/completions", {"model": "other", "stream": True, **ASKED})
        assert b'"model":"other"' in got.body
        assert b'"content":"Other"' in got.body
        assert json.loads(server.calls[1].body)["message"] == "Hello"
        got = await post(running, "/v1/responses", {"model": "other", "input": "Hello"})
        assert got.json["output"][0]["content"][0]["text"] == "Other"
        got = await post(running, "/v1/messages", {"model": "other", "max_tokens": 9, **ASKED})
        assert got.json["content"][0]["text"] == "Other"


@pytest.mark.parametrize("target", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
async def test_unknown_model_is_refused_in_the_form_of_the_protocol(target: str) -> None:
    async with upstream(by_path) as server, gateway(settled(**door(server.url))) as running:
        got = await post(running, target, {"model": "nobody", **ASKED})
        assert (got.status, got.header("x-should-retry")) == (404, "false")
        if target == "/v1/messages":
            assert got.json["error"]["type"] == "not_found_error"
        else:
            assert got.json["error"]["code"] == "model_not_found"
        assert (await post(running, target, ASKED)).status == 400
        assert not server.calls


@pytest.mark.parametrize("target", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
@pytest.mark.parametrize(("body", "words"), [(b"{bad", "no JSON"), (b"[]", "must be a JSON object")])
async def test_body_that_is_no_json_object_is_refused(target: str, body: bytes, words: str) -> None:
    async with gateway(settled(**door(NOBODY))) as running:
        got = await ask(running, target=target, body=body)
    assert got.status == 400
    assert words in got.json["error"]["message"]


async def test_models_are_listed_at_v1_models() -> None:
    async with gateway(settled(**door(NOBODY))) as running:
        listed = (await get(running, "/v1/models")).json
        assert listed["object"] == "list"
        assert [model["id"] for model in listed["data"]] == ["bot", "other"]
        assert (await get(running, "/v1/models/bot")).json == listed["data"][0]
        missing = await get(running, "/v1/models/nobody")
        assert (missing.status, missing.json["error"]["code"]) == (404, "model_not_found")
        version = ("anthropic-version", "2023-06-01")
        listed = (await get(running, "/v1/models", version)).json
        assert (listed["first_id"], listed["last_id"], listed["has_more"]) == ("bot", "other", False)
        assert (await get(running, "/v1/models/bot", version)).json["type"] == "model"


async def test_parameters_that_are_not_sent_are_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DROPPED_PARAMETERS, "_logged", {})
    sampled = {
        "model": "other",
        "temperature": 0.2,
        "logprobs": True,
        "my_secret": 1,
        "stream": True,
        **ASKED,
    }
    async with upstream(by_path) as server, gateway(settled(**door(server.url))) as running:
        for body in (sampled, sampled, {**sampled, "seed": 7}):
            got = await post(running, "/v1/chat/completions", body)
            assert b"temperature" not in got.body
    lines = [record.getMessage() for record in caplog.records if "dropped" in record.getMessage()]
    assert [line.partition("dropped: ")[2] for line in lines] == ["temperature, logprobs", "seed"]
    assert not {"temperature", "logprobs"} & json.loads(server.calls[0].body).keys()


@pytest.mark.parametrize("target", ["/v1/models/acme/bot-2", "/v1/models/acme%2Fbot-2"])
async def test_model_with_a_slash_in_its_name_is_found(target: str) -> None:
    chat = {"models": {"acme/bot-2": NOBODY}, "answers": ["openai-chat"]}
    async with gateway(settled(endpoints={"/v1/chat/completions": chat})) as running:
        assert (await get(running, target)).json["id"] == "acme/bot-2"
        missing = await get(running, f"{target}/x")
        assert (missing.status, missing.json["error"]["code"]) == (404, "model_not_found")


async def test_key_can_be_limited_to_models() -> None:
    keys = {"web": {"key": WEB, "models": ["bot"], "endpoints": ["/v1/chat/completions"]}, "all": ALL}
    async with (
        upstream(by_path) as server,
        gateway(settled(**door(server.url, auth={"keys": keys}))) as running,
    ):
        for key, names in ((WEB, ["bot"]), (ALL, ["bot", "other"])):
            listed = (await get(running, "/v1/models", ("Authorization", f"Bearer {key}"))).json
            assert [model["id"] for model in listed["data"]] == names
        assert (
            await post(running, "/v1/chat/completions", {"model": "other", **ASKED}, key=WEB)
        ).status == 404
        assert (await post(running, "/v1/chat/completions", {"model": "bot", **ASKED}, key=WEB)).status == 200
        assert (await post(running, "/v1/messages", {"model": "bot", **ASKED}, key=WEB)).status == 403
        assert (await get(running, "/v1/models")).status == 401


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        ({"models": {"bot": "nowhere"}}, "nowhere"),
        ({"models": {"bot": {}}}, "'upstream' is missing"),
        ({"models": {"m" * 257: NOBODY}}, r"more than 256 characters: m{40}\.\.\.$"),
        (
            {"models": {"bot": NOBODY}, "upstream": NOBODY},
            "in place of `upstream`",
        ),
        ({"models": {"bot": {"upstream": NOBODY, "path": "/{id}"}}}, "own path lacks"),
        ({"models": {"bot": {"upstream": NOBODY, "pth": "/"}}}, "did you mean 'path'"),
        ({"models": {"bot": {"upstream": NOBODY, "request": "mapped"}}}, "name it as `speaks`"),
        ({}, "'upstream' is missing"),
    ],
)
def test_contradictory_model_configuration_is_refused(endpoint: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigErrors, match=message):
        settled(endpoints={"/v1/chat/completions": {"answers": ["openai-chat"], **endpoint}})
