"""`GET /` of a gateway says what is served and how to call it."""

from typing import Any

import httpx
import pytest

from loopback import gateway, settled

pytestmark = pytest.mark.anyio

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def root(headers: dict[str, str] | None = None, **file: Any) -> httpx.Response:
    endpoints = {"/chat/{id}": {"upstream": "demo:legacy", "speaks": "legacy"}}
    async with gateway(settled(**{"endpoints": endpoints, **file})) as running, httpx.AsyncClient() as client:
        return await client.get("http://{}:{}/".format(*running.address[:2]), headers=headers)


async def test_index_for_a_program_is_json_with_a_working_command() -> None:
    response = await root()
    (endpoint,) = response.json()["endpoints"]
    assert endpoint["path"] == "/chat/{id}"
    assert endpoint["try"].startswith(f"curl -N http://127.0.0.1:{response.url.port}/chat/id -H ")


async def test_index_for_a_browser_is_a_page_that_loads_nothing() -> None:
    response = await root(BROWSER)
    assert response.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert "/chat/{id}" in response.text
    assert "<script" not in response.text


async def test_index_page_can_be_turned_off_and_replaced() -> None:
    assert (await root(server={"index": "off"})).status_code == 404
    own = {"/": {"upstream": "demo:legacy", "speaks": "legacy", "methods": ["GET"]}}
    assert "streamweir" not in (await root(endpoints=own)).text[:20]


async def test_index_page_on_other_addresses_is_off_by_default() -> None:
    assert (await root(listen="0.0.0.0:8080", auth="open")).status_code == 404
    assert (await root(listen="0.0.0.0:8080", auth="open", server={"index": True})).status_code == 200


async def test_index_page_with_keys_configured_needs_a_key() -> None:
    keys = {"keys": {"web": "a-key-of-ours"}}
    assert (await root(auth=keys)).status_code == 401
    allowed = await root({"X-Api-Key": "a-key-of-ours"}, auth=keys)
    assert "-H 'X-Api-Key: KEY'" in allowed.json()["endpoints"][0]["try"]
