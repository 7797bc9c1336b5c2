"""The thread and the run of LangGraph's server, which only response headers name."""

from typing import Any

import pytest

from hosts import asking, served
from loopback import ask, gateway, one_endpoint
from scripted_upstream import Call, answer, upstream
from streamweir.asgi import StreamweirMiddleware

pytestmark = pytest.mark.anyio

THREAD = "01a1fce7-e803-713e-b835-c81cbc4c0f00"
RUN = "01a1fce7-e82b-765d-9899-ac4df60fe074"
BODY = (
    b'event: metadata\ndata: {"run_id":"%s","attempt":1}\n\n'
    b'event: values\ndata: {"messages":[{"type":"ai","id":"m","content":"Hi"}]}\n\n' % RUN.encode()
)
PLACE = f"/threads/{THREAD}/runs/{RUN}"


@pytest.mark.parametrize("speaks", ["langgraph-server", "auto"])
@pytest.mark.parametrize(
    ("header", "thread"),
    [
        (f"Content-Location: {PLACE}", THREAD),
        (f"Location: {PLACE}/stream", THREAD),
        (f"Content-Location: /runs/{RUN}", None),
        ("Content-Location: /threads/../../runs", None),
    ],
)
async def test_thread_from_a_response_header_is_known_to_the_gateway(
    speaks: str, header: str, thread: str | None
) -> None:
    async def script(call: Call) -> None:
        await call.send(answer(BODY, "Content-Type: text/event-stream", header))

    async with (
        upstream(script) as server,
        gateway(one_endpoint(server.url, speaks=speaks)) as running,
    ):
        got = await ask(running)
    ids = got.assert_valid().events[0]["metadata"]
    assert (ids.get("thread_id"), ids["run_id"]) == (thread, RUN)


async def test_thread_from_a_response_header_is_known_to_the_middleware() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"text/event-stream"), (b"content-location", PLACE.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": BODY})

    async with served(StreamweirMiddleware(app, speaks="langgraph-server")) as host, asking(host) as client:
        got = await client.whole()
    assert got.assert_valid().events[0]["metadata"]["thread_id"] == THREAD
