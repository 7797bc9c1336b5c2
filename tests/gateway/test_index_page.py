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


async def test_a_program_gets_json_with_a_command_that_works() -> None:
    response = await root()
    (endpoint,) = response.json()["endpoints"]
    assert endpoint["path"] == "/chat/{id}"
    assert endpoint["try"].startswith(f"curl -N http://127.0.0.1:{response.url.port}/chat/id -H ")


async def test_a_browser_gets_a_page_that_loads_nothing() -> None:
    response = await root(BROWSER)
    assert response.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert "/chat/{id}" in response.text
    assert "<script" not in response.text


async def test_it_can_be_turned_off_and_gives_way() -> None:
    assert (await root(server={"index": "off"})).status_code == 404
    own = {"/": {"upstream": "demo:legacy", "speaks": "legacy", "methods": ["GET"]}}
    assert "streamweir" not in (await root(endpoints=own)).text[:20]


async def test_on_other_addresses_it_is_off_unless_asked_for() -> None:
    assert (await root(listen="0.0.0.0:8080", auth="open")).status_code == 404
    assert (await root(listen="0.0.0.0:8080", auth="open", server={"index": True})).status_code == 200


async def test_it_asks_for_a_key_where_keys_are_asked_for() -> None:
    keys = {"keys": {"web": "a-key-of-ours"}}
    assert (await root(auth=keys)).status_code == 401
    allowed = await root({"X-Api-Key": "a-key-of-ours"}, auth=keys)
    assert "-H 'X-Api-Key: KEY'" in allowed.json()["endpoints"][0]["try"]
