"""Secrets planted wherever one can be are in nothing that the console's page shows, fetches or keeps."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from console_browser import ConsoleBrowser, Page
from console_client import TOKEN, Console, console_of
from scripted_upstream import LAST_CHUNK, Call, chunk, upstream

pytestmark = [pytest.mark.anyio, pytest.mark.browser]

PLANTED = {
    "of a caller in the file": "caller-key-Lm73-Rt55",
    "of a header of the request": "bearer-of-client-Qx11-Zy2",
    "of a cookie": "cookie-value-Hj48-Bn66",
    "of the query": "query-value-Dd24-Ff88",
    "of a subprotocol": "offered-value-Tt31-Uu42",
    "of a body": "Gg77hunter2222xyz",
    "by its form": "sk-proj-abcdEFGH1234567890",
    "of the environment": "environ-key-Zx81-Qw92",
    "of the file": "file-key-Kk19-Ll20",
    "of the user in a URL": "urlpassword-Pp45",
    "of a response": "response-token-Nn63-Oo74",
    "of a given cookie": "given-cookie-Aa85-Bb96",
    "of arguments": "argument-pass-Cc07",
    "of a result": "result-key-Ee18-Gg29",
    "of an error": "error-pass-Hh30",
    "of XML": "xmlpass-Ii41",
    "of a number": "83619427",
}
HEAD = (
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    f"X-Auth-Token: {PLANTED['of a response']}\r\n"
    f"Set-Cookie: session={PLANTED['of a given cookie']}; Path=/\r\n\r\n"
).encode()
_SHOWN = """() => {
    const texts = [];
    const take = (root) => {
        for (const one of root.querySelectorAll('*')) {
            if (one.localName === 'details') one.open = true;
            if (typeof one.value === 'string' && one.type !== 'password') texts.push(one.value);
            if (one.shadowRoot) { texts.push(one.shadowRoot.innerHTML); take(one.shadowRoot); }
        }
    };
    take(document);
    const session = {...sessionStorage, 'streamweir-console-token': ''};
    texts.push(JSON.stringify([localStorage, session, history.state]), document.cookie, location.href);
    return [document.documentElement.outerHTML, ...texts].join(' ');
}"""
"""All that a page shows, also in shadow roots and in fields, and all that it keeps but for the token."""


def frames() -> bytes:
    """Frames with secrets in texts, ids, names, arguments, results and an error."""
    pair = {"name": "api_key", "value": PLANTED["of a result"]}
    echo = " and ".join(PLANTED[key] for key in ECHOED)
    events: list[dict[str, Any]] = [
        {"type": "token", "content": f"I know {echo}.", "thread_id": PLANTED["of a cookie"]},
        {"type": "thinking", "content": f"<password>{PLANTED['of XML']}</password> {PLANTED['by its form']}"},
        {
            "type": "tool_call",
            "tool_name": f"call {PLANTED['by its form']}",
            "tool_id": "t1",
            "arguments": {"password": PLANTED["of arguments"], "otp": int(PLANTED["of a number"])},
        },
        {"type": "tool_result", "tool_id": "t1", "result": {"entries": [pair]}},
        {"type": "strange", "value": {"secret": {"value": PLANTED["of a body"]}}},
        {"type": "error", "content": f"login failed: password={PLANTED['of an error']} {echo}"},
    ]
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


ECHOED = (
    *("of a caller in the file", "of a header of the request", "of a cookie", "of the query"),
    *("of a subprotocol", "of the environment", "of the file", "of the user in a URL"),
    *("of a response", "of a given cookie", "by its form"),
)
"""The secrets that the upstream tells without their names: the console knows them."""
HEADERS = [
    ("X-Api-Key", PLANTED["of a caller in the file"]),
    ("X-Client-Authorization", f"Bearer {PLANTED['of a header of the request']}"),
    ("Cookie", f"session={PLANTED['of a cookie']}"),
    ("Sec-WebSocket-Protocol", f"chat, access_token, {PLANTED['of a subprotocol']}"),
    ("X-Note", f"see {PLANTED['by its form']}"),
]


async def plays(call: Call) -> None:
    """Cuts its body within each secret."""
    body = frames()
    await call.send(HEAD)
    for start in range(0, len(body), 9):
        await call.send(chunk(body[start : start + 9]))
        if start % 360 == 0:
            await asyncio.sleep(0.002)
    await call.send(LAST_CHUNK)


def gateway_file(url: str) -> dict[str, Any]:
    """The sections of a configuration with a secret wherever a file may hold one."""
    upstreams = {
        "backend": {
            "url": f"{url.replace('//', '//user:' + PLANTED['of the user in a URL'] + '@')}/v1",
            "speaks": "legacy",
            "headers": {"Authorization": "Bearer ${PLANTED_KEY}", "X-Api-Key": PLANTED["of the file"]},
        }
    }
    chat = {"upstream": "backend", "answers": ["standard", "openai-chat"], "forward_headers": ["X-Note"]}
    return {
        "upstreams": upstreams,
        "endpoints": {"/chat": chat, "/demo": {"upstream": "demo:legacy", "speaks": "legacy"}},
        "auth": {"keys": {"web": PLANTED["of a caller in the file"]}},
        "console": {"capture": "content"},
    }


def assert_nothing_planted(text: str, place: str) -> None:
    found = [name for name, secret in PLANTED.items() if secret in text or secret in json.dumps(text)]
    assert found == [], place


async def check(page: Page, place: str) -> None:
    """Look into the page, and into every answer of the API that it has got."""
    shown = await page.evaluate(_SHOWN)
    assert TOKEN not in shown, place
    assert_nothing_planted(shown, place)
    answers = "".join(await page.do("fetched"))
    assert "/api/v1/" in answers
    assert_nothing_planted(answers, f"answers for {place}")


async def view(browser: ConsoleBrowser, console: Console, path: str) -> Page:
    page = await browser.open(f"http://{console.host}{path}#token={TOKEN}")
    await page.appears("status", "Connection: live")
    return page


async def check_stream(browser: ConsoleBrowser, console: Console, row_id: str) -> None:
    """Choose each read, event and write of a stream, export it, and copy its request."""
    page = await view(browser, console, f"/streams/{row_id}")
    await page.wait("() => document.querySelectorAll('[role=option]').length > 0")
    await page.wait("() => document.querySelector('[aria-label=Attempts]')")
    for lane in ("Raw", "Events", "Sent"):
        await page.focus("listbox", lane)
        await page.press("Home")
        for _ in range(8):
            await check(page, f"{lane} of {row_id}")
            await page.press("ArrowDown", "ArrowDown", "PageDown")
        await page.press("End")
        await check(page, f"end of {lane} of {row_id}")
    exported = await page.do("download", role="button", name="Export capture", exact=True)
    assert_nothing_planted(exported["text"] + exported["name"], "exported file")
    assert '"redacted"' in exported["text"]
    await page.click("button", "Copy as curl")
    assert_nothing_planted(await page.do("clipboard"), "copied request")
    await check(page, f"stream {row_id}")


async def test_planted_secrets_are_in_nothing_that_the_page_shows_fetches_or_keeps(
    browser_of_console: ConsoleBrowser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLANTED_KEY", PLANTED["of the environment"])
    body = {"message": f"I use {PLANTED['by its form']}", "password": PLANTED["of a body"]}
    async with (
        upstream(plays) as backend,
        console_of(tmp_path, **gateway_file(backend.url)) as console,
    ):
        target = f"/chat?api_key={PLANTED['of the query']}"
        for protocol in ("standard", "openai-chat"):
            headers = [*HEADERS, ("X-Streamweir-Protocol", protocol)]
            await console.call(target, json.dumps(body), headers=headers)
        await console.call(target, headers=HEADERS[1:])
        await console.row(state="refused")
        streams = await console.rows(state="ended")
        assert len(streams) == 2
        page = await view(browser_of_console, console, "/")
        await page.row(endpoint="/chat", state="ended")
        await check(page, "live")
        for row in streams:
            await check_stream(browser_of_console, console, row["id"])
        for path in ("/config", "/dialects"):
            page = await view(browser_of_console, console, path)
            await page.wait("() => document.querySelector('main table')")
            await check(page, path)
        page = await view(browser_of_console, console, "/playground")
        await page.do("choose", label="Endpoint", option="/demo")
        await page.do("fillLabel", label="Key", text=PLANTED["of a caller in the file"])
        await page.click("button", "Send")
        await page.appears("link", "Open stream")
        await check(page, "playground")
        await page.do("reload")
        await page.appears("status", "Connection: live")
        await check(page, "playground that was opened anew")
        await page.assert_quiet()
        async with console.feed(since=0) as feed:
            await feed.row(endpoint="/demo", state="ended")
            assert_nothing_planted(feed.body.decode(), "feed")
