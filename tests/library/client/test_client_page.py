"""The examples of docs/client.md run."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from places import DOCS
from streamweir import convert

PAGE = (DOCS / "client.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
BODY = convert(
    b'data: {"type": "tool_call", "tool_name": "search", "arguments": {"q": "drink"}}\n\n'
    b'data: {"type": "token", "content": "Tea."}\n\n'
    b'data: {"type": "done"}\n\n',
    speaks="legacy",
)


class Answer(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert json.loads(self.rfile.read(int(self.headers["content-length"])))["message"]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}/legacy"
        server.shutdown()
        serving.join()


@pytest.mark.parametrize("example", EXAMPLES, ids=["events", "script", "message"])
def test_example_of_the_client_page_runs(example: str, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "http://127.0.0.1:8080/legacy" in example
    exec(compile(example.replace("http://127.0.0.1:8080/legacy", url), "client.md", "exec"), {})
    assert "Tea." in capsys.readouterr().out
