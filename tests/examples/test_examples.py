"""The examples run the way their page says, over real HTTP."""

import ast
import http.client
import json
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from places import ROOT
from streamweir import parse_stream_line
from streamweir.testing import assert_valid_stream

EXAMPLES = ROOT / "examples"
ROW = re.compile(
    r"^\| \[(?P<file>\S+)\]\(\S+\) \| .* \| `(?P<run>uvicorn .*)` \| `(?P<curl>curl .*)` \|$", re.M
)
ROWS = {row["file"]: row for row in ROW.finditer((EXAMPLES / "README.md").read_text())}
SECOND_READER = "second_reader.py"
METHODS = {"fastapi_app.py": "POST", "mapped_app.py": "POST"}
FRAMINGS = {"sse": "text/event-stream", "ndjson": "application/x-ndjson", "json": "application/json"}


class Example(NamedTuple):
    """An app that runs."""

    file: str
    address: str

    def ask(
        self, path: str, *, accept: str = "*/*", body: bytes | None = None, **headers: str
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection(self.address, timeout=20)
        sent = {"Accept": accept, **{name.replace("_", "-"): value for name, value in headers.items()}}
        try:
            connection.request(METHODS.get(self.file, "GET"), path, body, headers=sent)
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()


@pytest.fixture(scope="module", params=sorted(ROWS))
def example(request: pytest.FixtureRequest) -> Iterator[Example]:
    """Run the command of the page, on a free port."""
    command = [sys.executable, "-m", *shlex.split(ROWS[request.param]["run"]), "--port", "0"]
    server = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert server.stderr is not None
    printed = []
    try:
        for line in server.stderr:
            printed.append(line)
            if found := re.search(r"running on http://(\S+)", line):
                break
        else:
            pytest.fail("".join(printed))
        drain = threading.Thread(target=server.stderr.read)
        drain.start()
        yield Example(request.param, found[1])
        server.terminate()
        drain.join(timeout=10)
    finally:
        server.kill()
        server.wait(timeout=10)
        server.stderr.close()


def test_page_names_every_example() -> None:
    assert {*ROWS, SECOND_READER} == {path.name for path in EXAMPLES.glob("*.py")}


def test_second_reader_follows_a_stream_that_is_under_way() -> None:
    told = subprocess.run(
        [sys.executable, EXAMPLES / SECOND_READER], capture_output=True, text=True, check=True, timeout=60
    )
    logged = [ast.literal_eval(line) for line in told.stderr.splitlines()]
    assert [message["type"] for message in logged] == ["content", "content", "session_end"]
    assert "Tea " in told.stdout
    assert "and coffee" in told.stdout


@pytest.mark.parametrize("framing", FRAMINGS)
def test_old_endpoint_gives_the_standard(example: Example, framing: str) -> None:
    response, body = example.ask("/chat", accept=FRAMINGS[framing], X_Request_Id="mine")
    assert response.status == 200
    assert_valid_stream(body, framing=framing, headers=dict(response.getheaders()))
    assert response.headers.get_all("X-Request-Id") == ["mine"]
    text = content_of(body) if framing != "json" else json.loads(body)["message"]["content"]
    assert text == "There are three."


@pytest.mark.parametrize("framing", FRAMINGS)
def test_new_endpoint_is_valid_in_every_framing(example: Example, framing: str) -> None:
    path = address_in(ROWS[example.file]["curl"])
    response, body = example.ask(path, accept=FRAMINGS[framing])
    assert response.status == 200
    assert_valid_stream(body, framing=framing, headers=dict(response.getheaders()))


def test_command_of_the_page_gets_an_answer(example: Example) -> None:
    line = ROWS[example.file]["curl"].replace("127.0.0.1:8000", example.address)
    done = subprocess.run(
        [*shlex.split(line), "-sS", "--fail", "--max-time", "20"],
        capture_output=True,
        timeout=30,
        check=True,
    )
    events = events_of(done.stdout)
    assert content_of(done.stdout) == "There are three."
    assert events[-1]["data"]["status"] == "completed"
    if "/agent" in line:
        assert [event["type"] for event in events].count("warning") == 1


@pytest.mark.parametrize("example", ["starlette_app.py", "fastapi_app.py"], indirect=True)
def test_two_of_them_answer_in_a_second_protocol(example: Example) -> None:
    for path in ("/chat", "/agent"):
        response, body = example.ask(path, X_Streamweir_Protocol="easyflow")
        assert response.status == 200
        assert b"There are three." in body or b"three." in body
        assert b"event: done" in body


@pytest.mark.parametrize("example", ["fastapi_app.py"], indirect=True)
def test_unknown_table_ends_the_stream_with_the_error_of_the_app(example: Example) -> None:
    _, body = example.ask("/agent?table=wine")
    assert_valid_stream(body)
    end, error, last = events_of(body)[-3:]
    assert (end["data"]["tool_id"], end["data"]["status"]) == ("call_1", "failed")
    assert (error["data"]["code"], error["data"]["message"]) == ("TABLE_NOT_FOUND", "There is no table wine.")
    assert last["data"]["status"] == "error"


@pytest.mark.parametrize("example", ["resumable_app.py"], indirect=True)
def test_answer_that_was_cut_is_resumed_at_its_position(example: Example) -> None:
    response, whole = example.ask("/chat", accept="text/event-stream")
    first, second, rest = whole.split(b"\n\n", 2)
    last = re.search(rb"id: (\S+)", second)
    assert last is not None
    location = response.headers["Content-Location"]
    resumed, body = example.ask(location, Last_Event_ID=last[1].decode())
    assert first.startswith(b"id: run_")
    assert (resumed.status, body) == (200, rest)


@pytest.mark.parametrize("example", ["tapped_app.py"], indirect=True)
def test_tapped_app_lists_the_streams_that_its_tap_saw(example: Example) -> None:
    example.ask("/chat?again", accept="application/x-ndjson")
    response, body = example.ask("/streams")
    assert response.status == 200
    *_, last = json.loads(body)
    assert last["path"] == "/chat"
    assert (last["events"]["session_start"], last["events"]["session_end"]) == (1, 1)
    assert last["events"]["content"] >= 2


@pytest.mark.parametrize("example", ["mapped_app.py"], indirect=True)
def test_mapped_app_answers_use_chat_and_its_old_page(example: Example) -> None:
    page = {"id": "c1", "messages": [{"role": "user", "parts": [{"type": "text", "text": "Hello"}]}]}
    sent = json.dumps({**page, "trigger": "submit-message"}).encode()
    response, body = example.ask("/chat?protocol=vercel-ui", body=sent, Content_Type="application/json")
    assert response.headers["x-vercel-ai-ui-message-stream"] == "v1"
    texts = [event["delta"] for event in events_of(body) if event["type"] == "text-delta"]
    assert texts == ["You said: ", "Hello"]
    _, old = example.ask("/chat?protocol=legacy", body=b'{"message": "Hi"}', Content_Type="application/json")
    assert [event.get("content") for event in events_of(old)] == ["You said: ", "Hi", None]


def events_of(body: bytes) -> list[dict[str, Any]]:
    return [event for line in body.split(b"\n") if (event := parse_stream_line(line))]


def content_of(body: bytes) -> str:
    return "".join(event["data"]["content"] for event in events_of(body) if event["type"] == "content")


def address_in(command: str) -> str:
    """The path that a curl line asks for."""
    return re.sub(r"^https?://[^/]+", "", shlex.split(command)[-1])
