"""Keys per endpoint: names that may call it, or nobody is asked; and what an open endpoint keeps apart."""

from typing import Any

import pytest

from loopback import Answer, Gateway, ask, gateway, settled
from scripted_upstream import WHOLE, Upstream, upstream
from streamweir_gateway.config import GatewayConfig

pytestmark = pytest.mark.anyio

WEB, BATCH = "sk-web-4711-secret", "sk-batch-0815-secret"
FOREIGN = ("Origin", "https://evil.example")
MODELS: Any = {"answers": ["openai-chat"], "methods": ["POST"]}


def mixed(server: Upstream, **file: Any) -> GatewayConfig:
    """A gateway with two keys: one endpoint for each, an open one, and lists of models of both kinds."""
    url = server.url
    return settled(
        auth={"keys": {"web": WEB, "batch": BATCH}},
        endpoints={
            "/any": {"upstream": url, "speaks": "legacy"},
            "/web": {"upstream": url, "speaks": "legacy", "auth": "web"},
            "/open": {
                "upstream": url,
                "speaks": "legacy",
                "auth": "open",
                "forward_headers": ["Authorization", "X-Api-Key"],
            },
            "/v1/chat/completions": {
                **MODELS,
                "auth": ["batch"],
                "models": {
                    "big": {"upstream": url, "speaks": "legacy", "request": "mapped"},
                    "b2": {"alias": "big"},
                },
            },
            "/free/chat/completions": {**MODELS, "auth": "open", "models": {"small": url}},
        },
        **file,
    )


def bearer(key: str) -> tuple[str, str]:
    return ("Authorization", f"Bearer {key}")


async def status(running: Gateway, target: str, *headers: tuple[str, str], **options: Any) -> int:
    return (await ask(running, target=target, headers=list(headers), **options)).status


async def test_endpoint_with_names_lets_in_these_keys_alone() -> None:
    async with upstream(WHOLE) as server, gateway(mixed(server)) as running:
        assert await status(running, "/web", bearer(WEB)) == 200
        assert await status(running, "/web", bearer(BATCH)) == 403
        assert await status(running, "/web") == 401
        assert await status(running, "/any", bearer(BATCH)) == 200


async def test_open_endpoint_checks_no_key_and_forwards_no_key_of_the_gateway() -> None:
    async with upstream(WHOLE) as server, gateway(mixed(server)) as running:
        for _ in range(25):  # more wrong keys than an address may try elsewhere
            assert await status(running, "/open", bearer("the-service's-own-login")) == 200
        assert server.calls[-1].header("authorization") == "Bearer the-service's-own-login"
        assert await status(running, "/any", bearer("wrong-but-the-first")) == 401
        both = [bearer(WEB), ("X-Api-Key", "a-token-of-the-service")]
        answer = await ask(running, target="/open", headers=both)
    assert answer.status == 200
    assert "key" not in running.log.lines[-1]
    assert server.calls[-1].header("authorization") is None
    assert server.calls[-1].header("x-api-key") == "a-token-of-the-service"


async def test_foreign_pages_are_kept_out_of_open_endpoints_alone() -> None:
    async with upstream(WHOLE) as server, gateway(mixed(server)) as running:
        assert await status(running, "/open", FOREIGN) == 403
        assert await status(running, "/open", ("Origin", "http://localhost:3000")) == 200
        assert await status(running, "/any", FOREIGN, bearer(WEB)) == 200


async def test_limits_of_an_open_endpoint_count_by_address() -> None:
    async with upstream(WHOLE) as server, gateway(mixed(server, rate_limit="2/minute")) as running:
        found = [await status(running, "/open", bearer(key)) for key in (WEB, BATCH, "whatever-it-is")]
        assert found == [200, 200, 429]
        assert await status(running, "/any", bearer(WEB)) == 200, "keys count for themselves"


def listed(answer: Answer) -> list[str]:
    return [model["id"] for model in answer.json["data"]]


async def test_lists_of_models_show_each_caller_its_own() -> None:
    async with upstream(WHOLE) as server, gateway(mixed(server)) as running:

        async def models(target: str, *headers: tuple[str, str]) -> Answer:
            return await ask(running, method="GET", target=target, headers=list(headers), body=b"")

        assert (await models("/v1/models")).status == 401
        assert (await models("/v1/models", bearer(WEB))).status == 403
        assert listed(await models("/v1/models", bearer(BATCH))) == ["big", "b2"]
        assert listed(await models("/free/models")) == ["small"]


async def test_alias_is_a_name_of_its_own_in_the_answer() -> None:
    async with upstream(WHOLE) as server, gateway(mixed(server)) as running:
        body = b'{"model": "b2", "messages": [{"role": "user", "content": "Hi"}]}'
        answer = await ask(running, target="/v1/chat/completions", headers=[bearer(BATCH)], body=body)
    assert answer.status == 200
    assert answer.json["model"] == "b2"


async def test_run_of_an_open_endpoint_is_read_by_its_handle_with_any_key() -> None:
    async with upstream(WHOLE) as server:
        chat: Any = {"upstream": server.url, "speaks": "legacy", "resume": {"find": False}}
        config = settled(
            auth={"keys": {"web": WEB, "batch": BATCH}},
            endpoints={"/open": {**chat, "auth": "open"}, "/web": {**chat, "auth": "web"}},
        )
        async with gateway(config) as running:
            free, owned = [
                (await ask(running, target=target, headers=[bearer(WEB)])).header("content-location") or ""
                for target in ("/open", "/web")
            ]

            async def read(place: str, *headers: tuple[str, str]) -> int:
                return await status(running, place, *headers, method="GET", body=b"")

            for headers in ([], [bearer(WEB)], [bearer(BATCH)], [bearer("a-login-of-the-service")]):
                assert await read(free, *headers) == 200, headers
            assert await read(owned, bearer(WEB)) == 200
            for headers in ([], [bearer(BATCH)], [bearer("a-login-of-the-service")]):
                assert await read(owned, *headers) == 404, headers
            assert await read("/-/runs?thread_id=1") == 401
            assert await read(free, FOREIGN) == 403
