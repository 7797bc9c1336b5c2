"""`streamweir check --probe`: one request per endpoint, and what its upstream said."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from streamweir_gateway.cli.entry import main

LEGACY = b'data: {"type": "token", "content": "Hi"}\n\ndata: {"type": "done"}\n\n'


class Backend(socketserver.ThreadingTCPServer):
    """Answers every request with the same stream, and keeps what it was sent."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, body: bytes, media_type: str = "text/event-stream") -> None:
        self.requests: list[bytes] = []
        backend = self
        head = (
            f"HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        )

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                data = b""
                while not data.endswith(b"}"):
                    data += self.request.recv(65536)
                backend.requests.append(data)
                self.request.sendall(head + body)

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def backend(body: bytes, media_type: str = "text/event-stream") -> Iterator[Backend]:
    with Backend(body, media_type) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def probed(folder: Path, *arguments: str, **endpoints: Any) -> int:
    file = folder / "config.yaml"
    file.write_text(json.dumps({"endpoints": {f"/{name}": value for name, value in endpoints.items()}}))
    return main(["check", *arguments, str(file)])


def test_probe_of_a_good_upstream_succeeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with backend(LEGACY) as server:
        assert probed(tmp_path, "--probe", chat={"upstream": server.url, "speaks": "legacy"}) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0] == "/chat: good"
    for fact in ("reachable    yes", "status       200", "dialect      legacy", "end          seen"):
        assert fact in printed
    assert server.requests[0].endswith(b'{"message": "Hello"}')


def test_probe_sends_the_endpoints_body_or_the_given_one(tmp_path: Path) -> None:
    endpoint = {"speaks": "legacy", "probe": {"body": {"q": 1}}}
    with backend(LEGACY) as server:
        probed(tmp_path, "--probe", chat={**endpoint, "upstream": server.url})
        probed(tmp_path, "--probe", "--data", '{"q": 2}', chat={**endpoint, "upstream": server.url})
    assert [request.rpartition(b"\r\n\r\n")[2] for request in server.requests] == [b'{"q": 1}', b'{"q": 2}']


def test_probe_of_a_bad_upstream_names_the_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with backend(LEGACY) as server:
        assert probed(tmp_path, "--probe", "--json", chat={"upstream": server.url, "speaks": "ragflow"}) == 1
    (probe,) = json.loads(capsys.readouterr().out)["probes"]
    assert probe["dialect"] == probe["hint"] == "looks like legacy (0.9); speaks is ragflow"
    assert (probe["reachable"], probe["media_type"], probe["ok"]) == ("yes", "text/event-stream", False)


@pytest.mark.parametrize("resume", ["off", "on"])
def test_probe_without_a_listening_upstream_prints_the_cause(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], resume: str
) -> None:
    chat = {"upstream": "http://127.0.0.1:9", "speaks": "legacy", "resume": resume}
    assert probed(tmp_path, "--probe", chat=chat) == 1
    printed = capsys.readouterr().out
    assert "reachable    no" in printed
    assert "connection refused" in printed


def test_probe_of_a_path_with_names_needs_their_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with backend(LEGACY) as server:
        endpoint = {"upstream": server.url, "path": "/a/{id}", "speaks": "legacy"}
        named = {**endpoint, "probe": {"path": {"id": "x y"}}}
        assert probed(tmp_path, "--probe", **{"a/{id}": endpoint, "b/{id}": named}) == 0
    assert "/a/{id}: left out" in capsys.readouterr().out
    assert server.requests[0].startswith(b"POST /a/x%20y HTTP/1.1")
    assert len(server.requests) == 1


def test_check_without_probe_sends_no_request(tmp_path: Path) -> None:
    with backend(LEGACY) as server:
        assert probed(tmp_path, chat={"upstream": server.url, "speaks": "legacy"}) == 0
    assert server.requests == []


@pytest.mark.parametrize(
    ("options", "arguments", "model"),
    [
        ({}, (), "bot"),
        ({"probe": {"body": {"messages": []}}}, (), "bot"),
        ({"probe": {"body": {"model": "other", "messages": []}}}, (), "other"),
        ({}, ("--data", '{"model": "help"}'), "help"),
    ],
)
def test_endpoint_with_models_is_asked_for_the_first_one(
    tmp_path: Path, options: dict[str, Any], arguments: tuple[str, ...], model: str
) -> None:
    with backend(LEGACY) as server:
        models = {"bot": server.url, "other": server.url, "help": {"alias": "bot"}}
        chat = {"models": models, "speaks": "legacy", "answers": ["openai-chat"], **options}
        assert probed(tmp_path, "--probe", *arguments, **{"v1/chat/completions": chat}) == 0
        (request,) = server.requests
    assert json.loads(request.partition(b"\r\n\r\n")[2])["model"] == model


def test_request_that_the_gateway_refuses_is_reported_as_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chat = {"models": {"bot": "http://127.0.0.1:9"}, "speaks": "legacy", "answers": ["openai-chat"]}
    data = ("--data", '{"model": "unknown"}')
    assert probed(tmp_path, "--probe", *data, **{"v1/chat/completions": chat}) == 1
    assert "refused      MODEL_NOT_FOUND" in capsys.readouterr().out
