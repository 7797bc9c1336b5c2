"""A chat service of 2023: a page at `/`, and a WebSocket at `/chat` with one message for each event."""

from __future__ import annotations

import asyncio
import json

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

PAGE = """<!doctype html>
<meta charset="utf-8">
<title>Chat</title>
<form><input name="question" autofocus><button>Ask</button></form>
<p role="log"></p>
<script>
  const path = location.pathname.replace(/\\/$/, "") + "/chat";
  const socket = new WebSocket(location.origin.replace(/^http/, "ws") + path);
  const log = document.querySelector("p");
  socket.onmessage = ({data}) => {
    const event = JSON.parse(data);
    if (event.type === "token") log.textContent += event.content;
  };
  document.forms[0].onsubmit = (event) => {
    event.preventDefault();
    log.textContent = "";
    socket.send(JSON.stringify({message: event.target.question.value}));
  };
</script>
"""

ANSWER = ("Hangzhou ", "had ", "1,204 ", "orders.")


async def page(_request: Request) -> HTMLResponse:
    """The page, which knows nothing of a gateway."""
    return HTMLResponse(PAGE)


async def chat(socket: WebSocket) -> None:
    """Answer each question with tokens, the final answer and `done`."""
    await socket.accept()
    try:
        while True:
            question = json.loads(await socket.receive_text()).get("message", "")
            await socket.send_json({"type": "thinking", "content": f"Looking for: {question}"})
            for word in ANSWER:
                await socket.send_json({"type": "token", "content": word})
                await asyncio.sleep(0.02)
            await socket.send_json({"type": "final_answer", "content": "".join(ANSWER)})
            await socket.send_json({"type": "done"})
    except WebSocketDisconnect:
        pass


app = Starlette(routes=[Route("/", page), WebSocketRoute("/chat", chat)])
