"""The console's page in Chromium: the token, the frame, the streams live."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from console_browser import ConsoleBrowser, Page
from console_client import TOKEN, Console, console_of
from scripted_upstream import HELLO, LAST_CHUNK, SSE, WHOLE, Call, chunk, upstream

pytestmark = [pytest.mark.anyio, pytest.mark.browser]

FIELDS = [
    *("request_id", "endpoint", "upstream", "speaks", "answers", "state", "duration_ms"),
    *("first_event_ms", "events", "max_gap_ms", "reason"),
]
PLOTS = ["Streams per second", "Open streams", "Time to first event", "Largest gap", "End reasons"]


def address(console: Console, path: str = "/", token: str = TOKEN) -> str:
    return f"http://{console.host}{path}#token={token}"


@asynccontextmanager
async def chat(folder: Path, script: Any = WHOLE, **file: Any) -> AsyncIterator[Console]:
    """A gateway with one endpoint and a console."""
    async with upstream(script) as server:
        endpoints = {"/chat": {"upstream": server.url, "speaks": "legacy"}}
        async with console_of(folder, endpoints=endpoints, **file) as console:
            yield console


async def focused(page: Page) -> str:
    name: str = await page.evaluate("() => document.activeElement.ariaLabel ?? document.activeElement.id")
    return name


async def test_page_without_a_token_asks_for_it_and_keeps_it(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with chat(tmp_path) as console:
        page = await browser_of_console.open(f"http://{console.host}/")
        await page.do("fillLabel", label="Token", text="wrong-token-wrong-token")
        await page.press("Enter")
        await page.wait("() => document.querySelector('[role=alert]')?.innerText")
        await page.do("fillLabel", label="Token", text=TOKEN)
        await page.press("Enter")
        await page.appears("status", "Connection: live")
        await page.do("reload")
        await page.appears("status", "Connection: live")
        assert await page.evaluate("() => [document.cookie, location.hash]") == ["", ""]


async def test_page_after_ten_wrong_tokens_shows_the_seconds_to_wait(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with chat(tmp_path) as console:
        for _ in range(10):
            await console.request("/api/v1/info", token="wrong-token-wrong-token")
        page = await browser_of_console.open(address(console, token="wrong-token-wrong-token"))
        said = await page.wait("() => document.querySelector('[role=alert]')?.innerText")
        assert "seconds" in said
        await page.do("fillLabel", label="Token", text=TOKEN)
        await page.press("Enter")
        await page.appears("status", "Connection: live")


async def test_token_in_the_fragment_is_taken_and_removed(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with chat(tmp_path) as console:
        page = await browser_of_console.open(address(console))
        await page.appears("status", "Connection: live")
        assert await page.evaluate("() => location.href") == f"http://{console.host}/"
        assert TOKEN not in await page.evaluate("() => document.documentElement.outerHTML")


async def test_table_shows_streams_with_their_fields(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with chat(tmp_path) as console:
        page = await browser_of_console.open(address(console))
        await page.appears("status", "Connection: live")
        assert "No streams yet" in await page.text("grid", "Streams")
        assert (await console.call("/chat")).status == 200
        row = await page.row(endpoint="/chat", state="ended", reason="done", speaks="legacy")
        assert set(FIELDS) <= set(row)
        assert row["request_id"].startswith("req_")
        assert await page.evaluate("() => document.querySelectorAll('h1').length") == 1
        for name in PLOTS:
            await page.appears("img", name)
        await page.wait("() => document.querySelectorAll('.plot canvas').length === 5")
        await page.assert_quiet()


async def test_running_stream_is_shown_within_a_second_and_its_age_ticks(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    ends = asyncio.Event()

    async def slow(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        await ends.wait()
        await call.send(*map(chunk, HELLO[1:]), LAST_CHUNK)

    async with chat(tmp_path, slow) as console:
        page = await browser_of_console.open(address(console))
        await page.appears("status", "Connection: live")
        asking = asyncio.create_task(console.call("/chat"))
        async with asyncio.timeout(5):
            row = await page.row(state="streaming")
        await page.wait(
            "(before) => document.querySelector('[data-field=duration_ms]').innerText !== before",
            row["duration_ms"],
        )
        ends.set()
        await asking
        await page.row(state="ended", reason="done")


async def test_failed_rows_are_marked_with_their_reason(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoints = {"/dead": {"upstream": f"http://127.0.0.1:{taken.getsockname()[1]}", "speaks": "legacy"}}
        async with console_of(tmp_path, endpoints=endpoints) as console:
            page = await browser_of_console.open(address(console))
            await console.call("/dead")
            await console.call("/nowhere")
            row = await page.row(state="ended", reason="upstream_unreachable")
            assert row["hint"]
            await page.row(state="refused", reason="ENDPOINT_NOT_FOUND")
            tones = "() => [...document.querySelectorAll('[data-id]')].map((row) => row.dataset.tone)"
            assert await page.evaluate(tones) == ["bad", "bad"]


async def test_filters_narrow_the_table_and_an_empty_one_gives_its_reason(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with chat(tmp_path) as console:
        await console.call("/chat")
        await console.call("/nowhere")
        page = await browser_of_console.open(address(console))
        await page.row(state="ended")
        count = "(n) => Number(document.querySelector('[aria-label=Streams]').ariaRowCount) === n"
        await page.wait(count, 2)
        for label, option in [
            ("State", "refused"),
            ("Endpoint", "/chat"),
            ("Reason", "done"),
            ("Reason", "ENDPOINT_NOT_FOUND"),
            ("Reason", "any failure"),
        ]:
            await page.do("choose", label=label, option=option)
            await page.wait(count, 1)
            await page.do("choose", label=label, option="any")
            await page.wait(count, 2)
        await page.press("/")
        await page.do("type", text="NOWHERE")
        await page.wait(count, 0)
        assert "None of the 2 streams matches" in await page.text("grid", "Streams")
        await page.click("button", "Clear the filters")
        await page.wait(count, 2)
        await page.press("/")
        await page.do("type", text="not_found")
        await page.wait(count, 1)
        await page.do("reload")
        await page.wait(count, 1)


async def test_paused_table_does_not_change_until_it_is_resumed(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with chat(tmp_path) as console:
        page = await browser_of_console.open(address(console))
        await page.appears("status", "Connection: live")
        await page.click("button", "Pause")
        await page.appears("status", "Connection: paused")
        await console.call("/chat")
        assert len(await console.rows()) == 1
        await asyncio.sleep(0.7)
        assert await page.rows() == []
        await page.click("button", "Resume")
        await page.row(state="ended", reason="done")
        await page.appears("status", "Connection: live")


async def test_keys_lead_through_the_page(browser_of_console: ConsoleBrowser, tmp_path: Path) -> None:
    async with chat(tmp_path) as console:
        for _ in range(3):
            await console.call("/chat")
        page = await browser_of_console.open(address(console))
        await page.wait("() => document.querySelectorAll('[data-id]').length === 3")
        await page.press("?")
        await page.appears("dialog", "Shortcuts")
        await page.press("Escape")
        await page.wait("() => !document.querySelector('dialog[open]')")
        await page.press("/")
        assert await focused(page) == "filter"
        await page.press("Tab", "Tab", "Tab", "Tab", "Tab", "Tab")
        while await focused(page) != "Streams":
            await page.press("Tab")
        await page.press("ArrowDown", "ArrowDown", "End", "Home", "ArrowDown")
        wanted = (await page.rows())[1]["id"]
        selected = "() => document.querySelector('[data-id][aria-selected=true]').dataset.id"
        assert await page.evaluate(selected) == wanted
        await page.press("Enter")
        await page.wait("(path) => location.pathname === path", f"/streams/{wanted}")
        await page.appears("listbox", "Events")
        await page.press("Escape")
        await page.wait("() => location.pathname === '/'")
        await page.appears("grid", "Streams")
        assert await page.evaluate(selected) == wanted


async def test_two_thousand_rows_do_not_freeze_the_page(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with chat(tmp_path) as console:
        for _ in range(20):
            await asyncio.gather(*(console.call("/nowhere") for _ in range(100)))
        page = await browser_of_console.open(address(console))
        await page.wait("() => document.querySelector('[aria-label=Streams]')?.ariaRowCount === '2000'")
        await page.evaluate(
            """() => { globalThis.longest = 0; let last = performance.now();
            setInterval(() => { const now = performance.now();
                longest = Math.max(longest, now - last); last = now; }, 5); }"""
        )
        await page.focus("grid", "Streams")
        await page.press("End")
        last = "() => document.querySelector('[data-id][aria-selected=true]')?.ariaRowIndex"
        await page.wait(f"() => ({last})() === '2000'")
        assert len(await page.rows()) < 100
        await page.press(*["PageUp"] * 10, "Home", "/")
        await page.do("type", text="not_found")
        await console.call("/chat")
        await page.wait("() => document.querySelector('[aria-label=Streams]').ariaRowCount === '1999'")
        assert await page.evaluate("() => longest") < 3000


async def test_page_comes_back_when_the_gateway_does(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        listen = f"127.0.0.1:{free.getsockname()[1]}"
    async with chat(tmp_path, console={"listen": listen}) as console:
        await console.call("/chat")
        page = await browser_of_console.open(address(console))
        before = await page.row(state="ended")
    await page.appears("status", "Connection: reconnecting")
    assert [row["id"] for row in await page.rows()] == [before["id"]]
    async with chat(tmp_path, console={"listen": listen}) as console:
        await page.appears("status", "Connection: live")
        await page.wait("() => document.querySelectorAll('[data-id]').length === 0")
        await console.call("/chat")
        after = await page.row(state="ended")
        assert after["id"] != before["id"]
    await page.assert_quiet()


async def test_hostile_texts_of_rows_are_shown_and_not_run(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with chat(tmp_path) as console:
        await console.call("/chat", headers=[("X-Request-Id", "<b>x</b>")])
        hostile = "/%3Cimg%20src=x%20onerror=alert(1)%3E"
        await console.call(hostile)
        page = await browser_of_console.open(address(console))
        await page.row(state="refused")
        assert await page.evaluate("() => document.querySelectorAll('main img, main b[onerror]').length") == 0
        await page.assert_quiet()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
async def test_views_are_accessible(
    browser_of_console: ConsoleBrowser, tmp_path: Path, dark: bool, width: int
) -> None:
    async with chat(tmp_path, console={"capture": "content"}) as console:
        await console.call("/chat")
        await console.call("/nowhere")
        row = await console.row(state="ended")
        page = await browser_of_console.open(f"http://{console.host}/", dark=dark, width=width)
        await page.wait("() => document.querySelector('#token')")
        await page.assert_accessible()
        await page.do("goto", target=address(console))
        await page.row(state="ended")
        await page.assert_accessible()
        await page.do("goto", target=address(console, f"/streams/{row['id']}"))
        await page.appears("listbox", "Events")
        await page.assert_accessible()
        await page.press("?")
        await page.assert_accessible()
        links = await page.evaluate(
            "() => [...document.querySelectorAll('nav a')].map((link) => link.pathname)"
        )
        for path in links:
            await page.do("goto", target=address(console, path))
            await page.wait("() => document.querySelector('main h1')")
            await page.wait("() => document.querySelector('main').children.length > 0")
            await asyncio.sleep(0.3)
            assert await page.evaluate("() => document.querySelectorAll('h1').length") == 1
            await page.assert_accessible()
        await page.assert_quiet()


async def test_rows_of_two_workers_are_shown_as_one_table(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with chat(tmp_path, server={"workers": 2}) as console:
        page = await browser_of_console.open(address(console))
        await page.appears("grid", "Streams")
        rows: list[Any] = []
        asked = 0
        async with asyncio.timeout(20):
            while {row["worker"] for row in rows} != {1, 2} or len(rows) < asked:
                if len(rows) == asked:
                    await asyncio.gather(*(console.call("/chat") for _ in range(10)))
                    asked += 10
                await asyncio.sleep(0.1)
                rows = await console.rows(limit=500, state="ended")
        of_worker = {row["worker"]: row["request_id"] for row in rows}
        await page.wait(
            "(count) => document.querySelector('[aria-label=Streams]').ariaRowCount === String(count)",
            len(rows),
        )
        for request_id in of_worker.values():
            await page.do("fill", role="searchbox", name="Filter", text=request_id)
            await page.row(request_id=request_id, state="ended", reason="done")
        await page.assert_quiet()
