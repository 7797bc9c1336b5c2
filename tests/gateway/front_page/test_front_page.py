"""`GET /` of a gateway lists its endpoints and how to call them; POST `/` tries one."""

import base64
import hashlib
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from loopback import gateway, settled
from streamweir_gateway.front_page.document import document
from streamweir_gateway.front_page.documentation import documentation_page
from streamweir_gateway.front_page.front_page import console_url

pytestmark = pytest.mark.anyio

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def serving(**file: Any) -> AsyncIterator[tuple[httpx.AsyncClient, str]]:
    """Run a gateway; yield a client and the address of its page."""
    endpoints = {"/chat/{id}": {"upstream": "demo:legacy", "speaks": "legacy"}}
    async with gateway(settled(**{"endpoints": endpoints, **file})) as running, httpx.AsyncClient() as client:
        yield client, "http://{}:{}/".format(*running.address[:2])


async def root(headers: dict[str, str] | None = None, **file: Any) -> httpx.Response:
    async with serving(**file) as (client, url):
        return await client.get(url, headers=headers)


async def test_index_for_a_program_is_json_with_a_working_command() -> None:
    response = await root()
    (endpoint,) = response.json()["endpoints"]
    assert endpoint["path"] == "/chat/{id}"
    assert endpoint["try"].startswith(f"curl -N http://127.0.0.1:{response.url.port}/chat/id -H ")


async def test_index_for_a_browser_is_a_page_that_loads_nothing() -> None:
    response = await root(BROWSER)
    assert response.headers["content-type"].startswith("text/html")
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "/chat/{id}" in response.text
    assert not re.search(r"(src|href)=[\"']?(https?:)?//", response.text)


@pytest.mark.parametrize("element", ["script", "style"])
async def test_policy_of_the_page_names_its_script_and_style_by_hash(element: str) -> None:
    response = await root(BROWSER)
    (text,) = re.findall(f"<{element}>(.*?)</{element}>", response.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    assert f"{element}-src 'sha256-{digest}'" in response.headers["content-security-policy"]


async def test_hostile_path_cannot_end_the_facts_of_the_page() -> None:
    path = "/</script><script>alert(1)</script>"
    response = await root(BROWSER, endpoints={path: {"upstream": "demo:legacy", "speaks": "legacy"}})
    assert "<script>alert" not in response.text
    found = re.search('id="facts">(.*?)</script>', response.text)
    assert found
    assert json.loads(found[1])["endpoints"][0]["path"] == path


async def test_page_links_to_pages_of_the_documentation_that_exist() -> None:
    response = await root(BROWSER)
    names = re.findall(r'href="/\?docs=([a-z-]+)"', response.text)
    assert "configuration" in names
    for name in names:
        assert documentation_page(name).startswith("# ")


@pytest.mark.parametrize("name", ["nothing-there", "../README", "/etc/passwd", "a.md"])
async def test_other_names_of_pages_are_refused(name: str) -> None:
    async with serving() as (client, url):
        assert (await client.get(url, params={"docs": name})).status_code == 404


@pytest.mark.parametrize(
    ("listen", "console", "is_linked"),
    [
        ("127.0.0.1:8080", "127.0.0.1:8081", True),
        ("127.0.0.1:8080", "0.0.0.0:8081", False),
        ("0.0.0.0:8080", "127.0.0.1:8081", False),
    ],
)
def test_console_is_linked_without_its_token_where_all_is_on_loopback(
    listen: str, console: str, is_linked: bool
) -> None:
    token = "a-console-token-of-ours"
    config = settled(
        endpoints={"/chat": {"upstream": "demo:legacy", "speaks": "legacy"}},
        listen=listen,
        auth="open",
        console={"listen": console, "token": token},
    )
    shown = document(config, "http://127.0.0.1:8080", console=console_url(config))
    assert ('href="http://127.0.0.1:8081/"' in shown) is is_linked
    assert token not in shown


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
