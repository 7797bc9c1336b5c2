"""One stream in the console's page: three lanes, the message, captures from files."""

import asyncio
import gzip
import json
import os
import subprocess
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from console_browser import ConsoleBrowser, Page
from console_client import TOKEN, Console, console_of
from scripted_upstream import HELLO, LAST_CHUNK, SSE, WHOLE, Call, chunk, upstream

pytestmark = [pytest.mark.anyio, pytest.mark.browser]

EVIL = "<img src=x onerror=globalThis.ran=1>\u202e\u0007</script><b>"
SELECTED = "() => [...document.querySelectorAll('[aria-selected=true]')].map((o) => o.id)"
MESSAGE = "() => document.querySelector('[aria-label=Message]').innerText"
NOTE_LONGEST = """() => { globalThis.longest = 0; let last = performance.now();
    setInterval(() => { const now = performance.now();
        longest = Math.max(longest, now - last); last = now; }, 5); }"""
"""Notes in `longest` for how many milliseconds the page has answered to nothing."""

FROZEN = 3000
"""Milliseconds: a page that answers to nothing for as long is frozen. Other work may slow a machine down."""


@asynccontextmanager
async def chat(folder: Path, script: Any = WHOLE, **endpoint: Any) -> AsyncIterator[Console]:
    """A gateway whose console keeps the bytes of its only endpoint."""
    async with upstream(script) as server:
        endpoints = {"/chat": {"upstream": server.url, "speaks": "legacy", **endpoint}}
        async with console_of(folder, endpoints=endpoints, console={"capture": "content"}) as console:
            yield console


async def shown(browser: ConsoleBrowser, console: Console, row: dict[str, Any], **options: Any) -> Page:
    """The page of a row, once its lanes are there."""
    page = await browser.open(f"http://{console.host}/streams/{row['id']}#token={TOKEN}", **options)
    await page.wait("() => document.querySelectorAll('[role=option]').length > 0")
    return page


def gateway_of(console: Console) -> str:
    return f"127.0.0.1:{console.running.at.address[1]}"


def visible(text: str) -> str:
    """A text of one line as the page shows it."""
    return text.replace("\n", "\u240a")


async def test_lanes_show_each_read_event_and_write(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async def apart(call: Call) -> None:
        await call.send(SSE)
        for frame in HELLO:
            await call.send(chunk(frame))
            await asyncio.sleep(0.2)
        await call.send(LAST_CHUNK)

    async with chat(tmp_path, apart) as console:
        await console.call("/chat")
        row = await console.row(state="ended")
        lines = await console.capture(row["id"])
        page = await shown(browser_of_console, console, row)
        for lane, kind in [("Raw", "read"), ("Events", "event"), ("Sent", "write")]:
            options = await page.options(lane)
            wanted = [line for line in lines if line["kind"] == kind]
            assert [float(option["t"]) for option in options] == [line["t"] for line in wanted]
            assert {option["size"] for option in options} == {len(wanted)}
            assert [option.get("read") for option in options] == [
                str(line["read"]) if "read" in line else None for line in wanted
            ]
            if kind != "event":
                assert [option["text"] for option in options] == [
                    visible(line["data"])[:600] for line in wanted
                ]
        tops = {option["n"]: option["top"] for option in await page.options("Raw")}
        events = await page.options("Events")
        for n, top in tops.items():
            first = next(option for option in events if option.get("read") == n)
            assert first["top"] == top
        marks = "() => [...document.querySelectorAll('[data-mark]')].map((mark) => mark.dataset.mark)"
        assert await page.evaluate(marks) == [line["what"] for line in lines if line["kind"] == "mark"]
        await page.assert_quiet()


async def test_selection_in_one_lane_selects_its_counterparts_and_cuts_the_message(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async def apart(call: Call) -> None:
        await call.send(SSE)
        for frame in HELLO:
            await call.send(chunk(frame))
            await asyncio.sleep(0.1)
        await call.send(LAST_CHUNK)

    async with chat(tmp_path, apart) as console:
        await console.call("/chat")
        page = await shown(browser_of_console, console, await console.row(state="ended"))
        await page.focus("listbox", "Raw")
        await page.press("Home")
        assert await page.evaluate(SELECTED) == ["read-0", "event-0", "event-1", "write-0"]
        assert "Hel" in await page.evaluate(MESSAGE)
        assert "Hello" not in await page.evaluate(MESSAGE)
        await page.press("ArrowDown")
        assert "read-1" in await page.evaluate(SELECTED)
        assert "Hello" in await page.evaluate(MESSAGE)
        await page.press("ArrowRight", "End")
        events = len(await page.options("Events"))
        assert f"event-{events - 1}" in await page.evaluate(SELECTED)
        assert "completed, done" in await page.evaluate(MESSAGE)
        await page.click("button", "First")
        assert "event-0" in await page.evaluate(SELECTED)
        await page.click("button", "Next")
        assert "event-1" in await page.evaluate(SELECTED)
        await page.click("button", "Previous")
        assert "event-0" in await page.evaluate(SELECTED)
        await page.click("button", "Last")
        assert f"event-{events - 1}" in await page.evaluate(SELECTED)


async def test_summary_holds_the_fields_of_the_row(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with chat(tmp_path) as console:
        await console.call("/chat")
        row = await console.row(state="ended")
        page = await shown(browser_of_console, console, row)
        fields: dict[str, str] = await page.wait(
            """() => document.querySelector('[aria-label=Attempts]') && Object.fromEntries(
            [...document.querySelectorAll('[aria-label=Summary] [data-field]')]
            .map((field) => [field.dataset.field, field.innerText]))"""
        )
        assert set(row) <= set(fields)
        for name in ("request_id", "endpoint", "state", "reason", "events", "attempts", "trace_id"):
            assert fields[name] == str(row[name])


async def test_silence_is_one_line_with_its_length_and_a_timeout_has_a_mark(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async def stalling(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        await asyncio.sleep(1.5)
        await call.send(chunk(HELLO[1]))
        await asyncio.sleep(20)

    async with chat(tmp_path, stalling, timeouts={"idle": "2s"}) as console:
        await console.call("/chat")
        row = await console.row(state="ended", reason="idle_timeout")
        page = await shown(browser_of_console, console, row)
        silences = "() => [...document.querySelectorAll('.silence')].map((line) => line.innerText.trim())"
        first, second = await page.evaluate(silences)
        assert first.startswith("1.5 s of silence")
        assert second.startswith("2.0 s of silence")
        assert await page.evaluate("() => document.querySelectorAll('[data-mark=silence]').length") == 1
        assert await page.evaluate("() => document.querySelector('[data-mark=timeout]').innerText")
        assert await page.evaluate("() => document.querySelector('.lanes').clientHeight") < 800
        message = await page.evaluate(MESSAGE)
        assert "Hello" in message
        assert "UPSTREAM_TIMEOUT" in message


async def test_running_stream_grows_and_stays_at_its_end(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    go: asyncio.Queue[bytes] = asyncio.Queue()

    async def stepwise(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        while (frame := await go.get()) != b"":
            await call.send(chunk(frame))
        await call.send(LAST_CHUNK)

    async with chat(tmp_path, stepwise) as console:
        asking = asyncio.create_task(console.call("/chat"))
        row = await console.row(state="streaming")
        page = await shown(browser_of_console, console, row)
        for n in range(60):
            go.put_nowait(b'data: {"type": "token", "content": " word%d"}\n\n' % n)
            await asyncio.sleep(0.01)
        await page.wait("() => document.querySelector('[aria-label=Message]').innerText.includes('word58')")
        go.put_nowait(HELLO[-1])
        go.put_nowait(b"")
        await asking
        await page.wait(
            "() => document.querySelector('[aria-label=Message]').innerText.includes('completed')"
        )
        await page.wait("() => document.querySelector('[data-field=state]').innerText === 'ended'")
        last = "() => document.querySelector('[aria-label=Events] [aria-selected=true]').ariaPosInSet"
        assert int(await page.evaluate(last)) == (await page.options("Events"))[-1]["size"]
        await page.assert_quiet()


async def test_exported_capture_is_the_one_of_the_api(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with chat(tmp_path) as console:
        await console.call("/chat")
        row = await console.row(state="ended")
        page = await shown(browser_of_console, console, row)
        download = await page.do("download", role="button", name="Export capture")
        assert download["name"] == f"{row['request_id']}.capture.jsonl"
        lines = [json.loads(line) for line in download["text"].splitlines()]
        assert lines == await console.capture(row["id"])


async def test_copied_curl_line_works_when_it_is_pasted(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with chat(tmp_path) as console:
        await console.call("/chat", message='it\'s "$HOME" `id`\n', headers=[("X-A", "it's")])
        row = await console.row(state="ended")
        page = await shown(browser_of_console, console, row)
        await page.click("button", "Copy as curl")
        await page.wait("() => document.querySelector('main').innerText.includes('Copied')")
        line = (await page.do("clipboard")).replace("http://gateway/", f"http://{gateway_of(console)}/")
        run = await asyncio.to_thread(
            subprocess.run, ["sh", "-c", line], capture_output=True, check=True, timeout=20
        )
        assert b'"session_end"' in run.stdout
        again = await console.capture((await console.rows())[0]["id"])
        before = await console.capture(row["id"])
        assert again[1]["body"] == before[1]["body"]
        assert ["x-a", "it's"] in again[1]["headers"]


async def test_hostile_texts_of_a_stream_are_shown_and_not_run(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    frames = [
        {"type": "token", "content": EVIL},
        {"type": "tool_call", "tool_name": EVIL, "tool_id": EVIL, "arguments": {EVIL: EVIL}},
        {"type": EVIL, "content": EVIL},
        {"type": "done"},
    ]
    body = b"".join(chunk(b"data: " + json.dumps(frame).encode() + b"\n\n") for frame in frames)
    async with chat(tmp_path, SSE + body + LAST_CHUNK) as console:
        await console.call("/chat", message=EVIL)
        page = await shown(browser_of_console, console, await console.row(state="ended"))
        await page.click("button", "Last")
        message = await page.evaluate(MESSAGE)
        assert "<img src=x" in message
        assert "\u27e8RLO\u27e9" in message
        text = await page.evaluate("() => document.body.innerText")
        assert "\u202e" not in text
        assert "\u0007" not in text
        assert await page.evaluate("() => [document.images.length, globalThis.ran ?? 0]") == [0, 0]
        await page.assert_quiet()


async def test_stream_without_content_shows_times_and_sizes(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with upstream(WHOLE) as server:
        endpoints = {"/chat": {"upstream": server.url, "speaks": "legacy"}}
        async with console_of(tmp_path, endpoints=endpoints) as console:
            await console.call("/chat")
            page = await shown(browser_of_console, console, await console.row(state="ended"))
            assert (await page.options("Raw"))[0]["text"].endswith(" B")
            assert "metadata" in await page.evaluate(MESSAGE)
            disabled = "() => [...document.querySelectorAll('button:disabled')].map((b) => b.innerText)"
            assert await page.evaluate(disabled) == ["Copy as curl"]


def lines_of(count: int) -> bytes:
    """A capture with so many reads, events and writes."""
    meta = {"kind": "capture", "version": 1, "id": "req_file", "content": "full", "endpoint": EVIL}
    lines: list[dict[str, Any]] = [meta]
    for n in range(count):
        event = {"type": "content", "data": {"content": f"word{n} "}, "metadata": {"sequence": n}}
        text = f"data: {n}\n\n"
        lines += [
            {"kind": "read", "t": n, "n": n, "attempt": 1, "data": text},
            {"kind": "event", "t": n, "read": n, "event": event},
            {"kind": "write", "t": n + 0.1, "n": n, "read": n, "sequences": [n, n], "data": text},
        ]
    lines.append({"kind": "end", "t": count, "reason": "done", "status": "completed", "client": "read"})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


SMALL = lines_of(3)
BAD_FILES = {
    "empty": (b"", "The file is empty"),
    "binary": (os.urandom(200_000), "not a capture file"),
    "text": (b"data: hello\n\n", "not a capture file"),
    "newer": (SMALL.replace(b'"version": 1', b'"version": 9', 1), "newer streamweir"),
    "one endless line": (b"{" * (60 << 20), "not a capture file"),
}


async def test_files_that_are_no_captures_are_refused_with_a_reason(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with chat(tmp_path) as console:
        page = await browser_of_console.open(f"http://{console.host}/#token={TOKEN}")
        await page.appears("grid", "Streams")
        for name, (content, reason) in BAD_FILES.items():
            file = tmp_path / name
            file.write_bytes(content)
            await page.do("file", path=str(file))
            await page.wait(
                "(text) => document.querySelector('[role=alert]')?.innerText.includes(text)", reason
            )
        for name, content in {"cut": SMALL + b'{"kind": "re', "zipped": gzip.compress(SMALL)}.items():
            file = tmp_path / name
            file.write_bytes(content)
            await page.do("file", path=str(file))
            await page.wait("() => document.querySelectorAll('[aria-label=Raw] [role=option]').length === 3")
            has_note = await page.evaluate(
                "() => document.querySelector('main').innerText.includes('breaks off')"
            )
            assert has_note == (name == "cut")
            await page.do("goto", target=f"http://{console.host}/#token={TOKEN}")
            await page.appears("grid", "Streams")
        assert await page.evaluate("() => document.images.length") == 0
        await page.assert_quiet()


async def test_dropped_file_is_shown_like_a_chosen_one(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with chat(tmp_path) as console:
        page = await browser_of_console.open(f"http://{console.host}/#token={TOKEN}")
        await page.appears("grid", "Streams")
        await page.evaluate(
            """(text) => { const data = new DataTransfer(); data.items.add(new File([text], 'a.jsonl'));
            document.querySelector('main').dispatchEvent(
                new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})); }""",
            SMALL.decode(),
        )
        await page.wait("() => document.querySelectorAll('[aria-label=Sent] [role=option]').length === 3")
        assert "word2" in await page.evaluate(MESSAGE)


async def test_hundred_thousand_events_do_not_freeze_the_page(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    file = tmp_path / "large.capture.jsonl"
    file.write_bytes(lines_of(100_000))
    async with chat(tmp_path) as console:
        page = await browser_of_console.open(f"http://{console.host}/#token={TOKEN}")
        await page.appears("grid", "Streams")
        await page.evaluate(NOTE_LONGEST)
        await page.do("file", path=str(file))
        await page.wait(
            "() => document.querySelector('[aria-label=Sent] [role=option]')?.ariaSetSize === '100000'"
        )
        for lane, key, n in [("Events", "End", 99_999), ("Sent", "Home", 0), ("Raw", "End", 99_999)]:
            await page.focus("listbox", lane)
            await page.press(key)
            await page.wait(f"() => ({SELECTED})().join() === 'read-{n},event-{n},write-{n}'")
        assert "word99999" in await page.evaluate(MESSAGE)
        assert len(await page.options("Raw")) < 300
        assert await page.evaluate("() => longest") < FROZEN


async def test_running_stream_of_a_hundred_thousand_events_does_not_freeze_the_page(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    is_open = asyncio.Event()

    async def flood(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        await is_open.wait()
        for start in range(0, 100_000, 100):
            texts = (
                b'data: {"type": "token", "content": " word%d"}\n\n' % n for n in range(start, start + 100)
            )
            await call.send(chunk(b"".join(texts)))
            await asyncio.sleep(0.005)
        await call.send(chunk(HELLO[-1]), LAST_CHUNK)

    async with chat(tmp_path, flood) as console:
        asking = asyncio.create_task(console.call("/chat"))
        row = await console.row(state="streaming")
        page = await shown(browser_of_console, console, row)
        await page.evaluate(NOTE_LONGEST)
        is_open.set()
        assert (await asking).status == 200
        await page.wait("() => document.querySelector('[data-field=state]').innerText === 'ended'")
        await page.wait(f"() => ({MESSAGE})().includes('word99999')")
        assert len(await page.options("Events")) < 300
        assert await page.evaluate("() => longest") < FROZEN
        assert await page.evaluate("() => performance.memory.usedJSHeapSize") < 256 << 20
        await page.assert_quiet()


def gigabyte_of(line: bytes) -> bytes:
    """A compressed capture with this line again and again, a gigabyte when it is read."""
    head = json.dumps({"kind": "capture", "version": 1, "id": "r", "speaks": "legacy"}).encode() + b"\n"
    block = line * (-(-(1 << 20) // len(line)))
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31)
    pieces = [
        compressor.compress(head),
        *(compressor.compress(block) for _ in range((1 << 30) // len(block) + 1)),
    ]
    return b"".join([*pieces, compressor.flush()])


async def test_file_of_a_gigabyte_does_not_freeze_the_page(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    read = {
        "kind": "read",
        "t": 1,
        "attempt": 1,
        "data": 'data: {"type":"token","content":"%s"}\n\n' % ("x" * 2000),
    }
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.truncate(1 << 30)
    full = tmp_path / "full.gz"
    full.write_bytes(gigabyte_of(json.dumps(read).encode() + b"\n"))
    endless = tmp_path / "endless.gz"
    endless.write_bytes(gigabyte_of(b"x"))
    async with chat(tmp_path) as console:
        page = await browser_of_console.open(f"http://{console.host}/#token={TOKEN}")
        for place, text in (
            (sparse, "not a capture"),
            (endless, "not a capture"),
            (full, "only its first part is shown"),
        ):
            await page.do("goto", target=f"http://{console.host}/#token={TOKEN}")
            await page.appears("grid", "Streams")
            await page.evaluate(NOTE_LONGEST)
            await page.do("file", path=str(place))
            await page.wait("(text) => document.querySelector('main').innerText.includes(text)", text)
            assert await page.evaluate("() => longest") < FROZEN, place
            assert await page.evaluate("() => performance.memory.usedJSHeapSize") < 1 << 30, place
        await page.assert_quiet()


async def test_file_of_a_hundred_thousand_captures_does_not_freeze_the_page(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    file = tmp_path / "many"
    file.write_bytes(SMALL * 100_000)
    async with chat(tmp_path) as console:
        page = await browser_of_console.open(f"http://{console.host}/#token={TOKEN}")
        await page.appears("grid", "Streams")
        await page.evaluate(NOTE_LONGEST)
        await page.do("file", path=str(file))
        await page.wait(
            "() => document.querySelector('main').innerText.includes('only its first part is shown')"
        )
        await page.wait("() => document.querySelectorAll('[aria-label=Raw] [role=option]').length === 3")
        assert await page.evaluate("() => longest") < FROZEN
        await page.assert_quiet()


async def test_row_that_is_not_kept_gives_its_reason(
    browser_of_console: ConsoleBrowser, tmp_path: Path
) -> None:
    async with chat(tmp_path) as console:
        page = await browser_of_console.open(f"http://{console.host}/streams/nowhere#token={TOKEN}")
        said = await page.wait("() => document.querySelector('[role=alert]')?.innerText")
        assert "not kept any longer" in said
        await page.appears("status", "Connection: live")
        await page.press("Escape")
        await page.appears("grid", "Streams")
