"""`streamweir request` as a user runs it."""

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import run

BODY = '{"question": "hi", "tools": [{"name": "f"}]}'


def shown(*arguments: str, body: str = BODY, cwd: Path | None = None) -> Any:
    done = run("request", *arguments, input=body.encode(), cwd=cwd)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_request_prints_the_upstream_request() -> None:
    found = shown("--from", "standard", "--to", "ragflow", "--path", "/api/v1/chats/7/completions?k=1")
    first, second = found["requests"]
    assert first == {
        "method": "POST",
        "path": "/api/v1/chats/7/sessions",
        "query": {"k": "1"},
        "headers": {"Content-Type": "application/json"},
        "body": {"name": "hi"},
        "takes": {"thread_id": "data.id"},
    }
    assert second["body"]["session_id"] == "{thread_id}"
    assert found["lost"] == ["tools"]
    assert found["request"]["message"] == "hi"


@pytest.mark.parametrize("dialect", ["dify", "coze", "a2a", "ragflow"])
def test_request_with_an_unknown_thread_begins_a_conversation(dialect: str) -> None:
    run_input = {"threadId": "mine", "runId": "r", "messages": [{"id": "1", "role": "user", "content": "hi"}]}
    found = shown("--from", "ag-ui", "--to", dialect, "--path", "/x/stream", body=json.dumps(run_input))
    assert found["request"]["thread_id"] == "mine"
    assert "mine" not in json.dumps(found["requests"])
    known = shown("--from", "standard", "--to", dialect, body='{"message": "hi", "thread_id": "theirs"}')
    assert "theirs" in json.dumps(known["requests"])


def test_request_takes_the_body_from_the_command_line() -> None:
    assert shown("--from", "standard", "--to", "legacy", '{"text": "hi"}')["requests"][0]["body"] == {
        "message": "hi",
        "stream": True,
    }


def test_request_of_an_endpoint_uses_its_tree_path_and_headers(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        """
upstreams:
  old: {url: "http://127.0.0.1:9/base", speaks: legacy, headers: {Authorization: "Bearer secret", X-Team: a}}
endpoints:
  /c/{id}:
    upstream: old
    path: /chat/{id}?v=1
    request: {mapped: {bot: 7, key: "${NOT_SET_HERE}"}}
  /t/{id}:
    upstream: old
    request: {body: {q: "${{ question }} ${{ path.id }}"}, headers: {X-User: "${{ question }}"}}
  /as-it-came: {upstream: old}
"""
    )
    (sent,) = shown("--config", "config.yaml", "--endpoint", "/c/5", cwd=tmp_path)["requests"]
    assert (sent["path"], sent["query"]) == ("/base/chat/5", {"v": "1"})
    assert sent["body"] == {"message": "hi", "stream": True, "bot": 7, "key": "${NOT_SET_HERE}"}
    assert sent["headers"]["X-Team"] == "a"
    assert "authorization" not in {name.lower() for name in sent["headers"]}
    (sent,) = shown("--config", "config.yaml", "--endpoint", "/t/{id}", cwd=tmp_path)["requests"]
    assert sent["body"] == {"q": "hi id"}
    assert sent["headers"]["X-User"] == "hi"
    (sent,) = shown("--config", "config.yaml", "--endpoint", "/as-it-came", cwd=tmp_path)["requests"]
    assert sent["body"] == json.loads(BODY)


def test_request_with_a_model_chooses_its_upstream(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        """
endpoints:
  /chat:
    models:
      one: http://127.0.0.1:9/one
      two: {upstream: "http://127.0.0.1:9/two", speaks: legacy, path: /deep, request: {mapped: {bot: 7}}}
"""
    )
    endpoint = ("--config", "config.yaml", "--endpoint", "/chat")
    (sent,) = shown(*endpoint, body='{"model": "one", "message": "hi"}', cwd=tmp_path)["requests"]
    assert (sent["path"], sent["body"]) == ("/one", {"model": "one", "message": "hi"})
    (sent,) = shown(*endpoint, body='{"model": "two", "message": "hi"}', cwd=tmp_path)["requests"]
    assert (sent["path"], sent["body"]) == ("/two/deep", {"message": "hi", "stream": True, "bot": 7})
    none = run("request", *endpoint, input=b'{"message": "hi"}', cwd=tmp_path)
    assert (none.returncode, json.loads(none.stdout)["status"]) == (1, 400)
    other = run("request", *endpoint, input=b'{"model": "three"}', cwd=tmp_path)
    assert other.returncode == 2
    assert b"(known: one, two)" in other.stderr


def test_request_with_a_bad_body_fails() -> None:
    done = run("request", "--from", "standard", "--to", "legacy", '{"messages": [{"role": "x"}]}')
    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "error": {
            "code": "BAD_REQUEST",
            "message": "messages[0].role must be system, user, assistant or tool.",
        },
        "status": 400,
    }


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--from", "standard"),
        ("--from", "standard", "--to", "nobody"),
        ("--from", "standard", "--to", "legacy", "--option", "x"),
        ("--from", "standard", "--to", "legacy", "--option", "legacy.a=b"),
        ("--endpoint", "/a"),
    ],
)
def test_request_with_a_wrong_command_line_fails(arguments: tuple[str, ...]) -> None:
    assert run("request", *arguments, input=BODY.encode()).returncode == 2
