"""The console's page in Chromium: the playground before the demos, the configuration, the dialects."""

import json
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from console_browser import ConsoleBrowser, Page
from console_client import TOKEN, Console, console_of
from scripted_upstream import LAST_CHUNK, SSE, Call, chunk, upstream

pytestmark = [pytest.mark.anyio, pytest.mark.browser]

DEMOS = [
    "ag-ui",
    "anthropic",
    "easyflow",
    "legacy",
    "openai-chat",
    "openai-responses",
    "ragflow",
    "vercel-ui",
]
ANSWERS = ["standard", *DEMOS]
TEXT = "Hangzhou"
KEPT = {"token": "kept", "n": [1, None]}
WINDOW = {"type": "boolean", "title": "Window"}
GUEST = {"type": "object", "title": "Guest", "properties": {"name": {"type": "string", "title": "Full name"}}}
TAGS = {"type": "array", "items": {"type": "string"}, "title": "Tags", "description": "Of the seats."}
_ANSWER_HAS = "(text) => document.querySelector('[aria-label=Answer]').innerText.includes(text)"
_RAW_HAS = """(bytes) => {
    const {textContent} = document.querySelector('[aria-label="Raw answer"] pre');
    return new TextEncoder().encode(textContent).length === bytes;
}"""
_CLIPBOARD = "async () => { try { return await navigator.clipboard.readText(); } catch { return ''; } }"
_VALUES = """() => Object.fromEntries(
    [...document.querySelectorAll('[aria-label=Values] [data-path]')].map((row) => [
        row.dataset.path, [...row.querySelectorAll('[data-field]')].map((cell) => cell.innerText),
    ]),
)"""
_HASHES = """() => ['running_hash', 'file_hash'].map(
    (name) => document.querySelector(`[data-field=${name}]`).innerText,
)"""
_ROW_NAMES = """() => document.querySelectorAll('[aria-label="What survives"] tbody th').length > 20"""
WIDTHS_AND_SCHEMES = [(1280, False), (360, True)]


@asynccontextmanager
async def demos(folder: Path, *names: str, **file: Any) -> AsyncIterator[Console]:
    """A gateway in front of demos, and its console."""
    endpoints = {
        f"/{name}": {"upstream": f"demo:{name}", "speaks": name, "answers": ANSWERS} for name in names
    }
    async with console_of(folder, endpoints=endpoints, **file) as console:
        yield console


async def opened(browser: ConsoleBrowser, console: Console, path: str, **options: Any) -> Page:
    page = await browser.open(f"http://{console.host}{path}#token={TOKEN}", **options)
    await page.appears("status", "Connection: live")
    return page


async def send(page: Page, endpoint: str, protocol: str = "standard", framing: str = "sse") -> None:
    await page.do("choose", label="Endpoint", option=endpoint)
    await page.do("choose", label="Protocol", option=protocol)
    await page.do("choose", label="Framing", option=framing)
    await page.click("button", "Send")


async def result(page: Page, **wanted: str) -> None:
    """Wait for fields of the result."""
    await page.wait(
        """(wanted) => Object.entries(wanted).every(([field, value]) =>
            document.querySelector(`[aria-label=Result] [data-field=${field}]`)?.innerText === value)""",
        wanted,
    )


async def test_playground_shows_each_protocol_of_each_demo_as_a_message(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    pairs = list(zip(DEMOS, [*ANSWERS[3:], *ANSWERS[:3]], strict=False))
    async with demos(tmp_path, *DEMOS) as console:
        page = await opened(browser_of_console, console, "/playground")
        for at, (demo, protocol) in enumerate(pairs):
            await send(page, f"/{demo}", protocol, ("sse", "ndjson")[at % 2])
            await result(page, status="200", reason="done")
            await page.wait(_ANSWER_HAS, TEXT)
            row = await console.row(endpoint=f"/{demo}", reason="done")
            await page.wait(_RAW_HAS, row["bytes_out"])
        await page.assert_quiet()


async def test_playground_folded_answer_is_shown_as_its_text(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with demos(tmp_path, "legacy") as console:
        page = await opened(browser_of_console, console, "/playground")
        for protocol in ("standard", "anthropic"):
            await send(page, "/legacy", protocol, "json")
            await result(page, status="200", reason="done")
            await page.wait(_ANSWER_HAS, TEXT)
            answer = await page.text("region", "Answer")
            assert "{" not in answer


@pytest.mark.parametrize(
    ("way", "reason", "code"),
    [("fail", "upstream_error", "UPSTREAM_ERROR"), ("cut", "truncated", "UPSTREAM_TRUNCATED")],
)
async def test_playground_broken_demo_shows_reason_and_code_and_opens_its_stream(
    browser_of_console: ConsoleBrowser, tmp_path: Path, way: str, reason: str, code: str
) -> None:
    async with demos(tmp_path, "legacy") as console:
        page = await opened(browser_of_console, console, "/playground")
        await page.click("radio", way)
        await send(page, "/legacy")
        await result(page, reason=reason, code=code)
        row = (await console.rows())[0]
        await page.click("link", "Open stream")
        await page.wait("(path) => location.pathname === path", f"/streams/{row['id']}")
        await page.appears("region", "Summary")


async def test_playground_stop_ends_a_demo_that_stalls(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with demos(tmp_path, "legacy") as console:
        page = await opened(browser_of_console, console, "/playground")
        await page.click("radio", "stall")
        await send(page, "/legacy")
        await page.wait(
            "() => document.querySelector('[aria-label=\"Raw answer\"] pre').innerText.length > 200"
        )
        await page.click("button", "Stop")
        await result(page, reason="client_gone")


async def test_playground_answers_a_form_with_values_of_their_types(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with demos(tmp_path, "easyflow") as console:
        page = await opened(browser_of_console, console, "/playground")
        await page.click("radio", "ask")
        await send(page, "/easyflow")
        await result(page, reason="interaction")
        await page.click("button", "Submit")
        await page.wait("() => document.querySelector('[aria-invalid=true]') === document.activeElement")
        await page.do("fillLabel", label="City", text="Hangzhou")
        await page.do("fillLabel", label="Days", text="3")
        await page.click("button", "Submit")
        await result(page, reason="done")
        sent = (await console.capture((await console.rows())[0]["id"]))[:3]
        assert '"Days"' not in json.dumps(sent)
        await page.wait(_ANSWER_HAS, TEXT)


def asking() -> bytes:
    """The body of a run that waits for a decision and for a form."""
    form = {
        "type": "object",
        "properties": {
            "seats": {"type": "integer", "title": "Seats"},
            "window": WINDOW,
            "tags": TAGS,
            "guest": GUEST,
        },
    }
    asked = [
        {"interaction_id": "one", "kind": "approval", "state": "requested", "title": "Buy?", "resume": KEPT},
        {"interaction_id": "two", "kind": "form", "state": "requested", "schema": form},
    ]
    events = [
        {"type": "session_start", "data": {"session_id": "s", "request_id": "r", "protocol": "1.1"}},
        *({"type": "interaction", "data": data} for data in asked),
        {"type": "session_end", "data": {"status": "suspended", "reason": "interaction", "summary": {}}},
    ]
    return b"".join(chunk(b"data: " + json.dumps(event).encode() + b"\n\n") for event in events)


async def test_playground_answers_all_open_interactions_in_one_request(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    bodies: list[Any] = []
    is_answered = anyio.Event()

    async def script(call: Call) -> None:
        bodies.append(json.loads(call.body))
        if len(bodies) == 2:
            is_answered.set()
        await call.send(SSE + asking() + LAST_CHUNK)

    async with upstream(script) as server:
        endpoints = {"/chat": {"upstream": server.url, "speaks": "standard"}}
        async with console_of(tmp_path, endpoints=endpoints) as console:
            page = await opened(browser_of_console, console, "/playground")
            await send(page, "/chat")
            await result(page, reason="interaction")
            await page.wait("() => document.body.innerText.includes('JSON, with Full name (name).')")
            await page.click("button", "Submit")
            await page.wait("() => document.activeElement.matches('fieldset')")
            await page.click("radio", "Approve")
            await page.do("fillLabel", label="Seats", text="2")
            await page.click("checkbox", "Window")
            await page.wait("() => document.body.innerText.includes('Of the seats. Written as JSON.')")
            await page.do("fillLabel", label="Tags", text='["aisle"]')
            await page.click("button", "Submit")
            with anyio.fail_after(20):
                await is_answered.wait()
    value = {"seats": 2, "window": True, "tags": ["aisle"]}
    assert bodies[1]["resume"] == [
        {"interaction_id": "one", "action": "approve", "resume": KEPT},
        {"interaction_id": "two", "action": "submit", "value": value},
    ]


@pytest.mark.parametrize("protocol", ["standard", "ag-ui", "easyflow", "vercel-ui"])
async def test_playground_whole_answer_has_the_parts_and_the_result_of_a_stream(
    browser_of_console: ConsoleBrowser, tmp_path: Path, protocol: str
) -> None:
    async with demos(tmp_path, "legacy") as console:
        page = await opened(browser_of_console, console, "/playground")
        await send(page, "/legacy", protocol, "json")
        await result(page, status="200", reason="done", code="–")
        await page.wait(_ANSWER_HAS, "Thinking")
        await page.wait(_ANSWER_HAS, TEXT)


async def test_playground_curl_line_gives_the_same_answer_when_pasted(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    key = "a-key-of-a-caller-0123"
    async with demos(tmp_path, "legacy", auth={"keys": {"web": key}}) as console:
        page = await opened(browser_of_console, console, "/playground")
        await page.do("fillLabel", label="Message", text='It\'s "tea" & $HOME?')
        await page.do("fill", role="textbox", name="Key", text=key, exact=True)
        await page.do("choose", label="Protocol", option="ag-ui")
        await page.click("button", "Copy as curl")
        line = await page.wait(_CLIPBOARD)
        printed = await anyio.run_process(["sh", "-c", line])
        assert b'"type":"RUN_FINISHED"' in printed.stdout
        assert shlex.split(line)[2].endswith("/legacy")
        assert key not in await page.evaluate("() => JSON.stringify({...localStorage, ...sessionStorage})")


async def test_playground_without_the_key_shows_the_refusal(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with demos(tmp_path, "legacy", auth={"keys": {"web": "a-key-of-a-caller-0123"}}) as console:
        page = await opened(browser_of_console, console, "/playground")
        await send(page, "/legacy")
        await result(page, status="401", code="UNAUTHENTICATED")


async def test_configuration_view_shows_lines_of_the_file_and_a_mismatch(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with demos(tmp_path, "legacy", auth={"keys": {"web": "a-key-of-a-caller-0123"}}) as console:
        page = await opened(browser_of_console, console, "/config")
        shown = await page.wait(_VALUES)
        values = {one["path"]: one for one in (await console.get("config"))["values"]}
        assert set(shown) == set(values)
        assert shown["endpoints./legacy.speaks"][0] == "legacy"
        assert shown["endpoints./legacy.speaks"][1] == values["endpoints./legacy.speaks"]["origin"]
        assert "a-key-of-a-caller" not in await page.evaluate("() => document.documentElement.outerHTML")
        file = anyio.Path((await console.get("config"))["file"])
        await file.write_text(await file.read_text() + "\n# changed\n")
        await page.wait("() => document.querySelector('main').innerText.includes('differs')")
        hashes = await page.evaluate(_HASHES)
        assert hashes[0] != hashes[1]


async def test_dialects_cells_are_reached_by_arrows_and_list_losses(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with demos(tmp_path, "legacy") as console:
        page = await opened(browser_of_console, console, "/dialects")
        await page.wait(_ROW_NAMES)
        cells = {(one["from"], one["to"]): one["lost"] for one in (await console.get("dialects"))["cells"]}
        await page.evaluate("() => document.querySelector('[data-place=\"0,0\"]').focus()")
        for key in ("ArrowDown", "ArrowRight", "End", "ArrowDown"):
            await page.press(key)
            row, column, name = await page.evaluate(
                """() => { const cell = document.activeElement;
                    const {from} = cell.closest('tr').dataset, {to} = cell.closest('td').dataset;
                    return [from, to, cell.ariaLabel]; }"""
            )
            lost = cells[row, column]
            said = await page.text("region", "Lost")
            assert all(kind in said and kind in name for kind in lost)
            assert lost or "Nothing is lost" in said


@pytest.mark.parametrize(("width", "dark"), WIDTHS_AND_SCHEMES)
async def test_each_view_is_accessible(
    browser_of_console: ConsoleBrowser, tmp_path: Path, width: int, dark: bool
) -> None:
    async with demos(tmp_path, "easyflow") as console:
        page = await opened(browser_of_console, console, "/playground", width=width, dark=dark)
        await page.click("radio", "ask")
        await send(page, "/easyflow")
        await result(page, reason="interaction")
        await page.assert_accessible()
        for path in ("/config", "/dialects"):
            page = await opened(browser_of_console, console, path, width=width, dark=dark)
            await page.wait("() => document.querySelector('main table')")
            await page.assert_accessible()
            assert await page.evaluate("() => document.querySelectorAll('h1').length") == 1
