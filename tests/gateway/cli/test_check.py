"""`streamweir check` as a user runs it."""

import json
from pathlib import Path

import pytest

from command_line import run

GOOD = """\
listen: "[::1]:9000"
endpoints:
  /chat/{id}:
    upstream: http://127.0.0.1:9000/chat
    speaks: legacy
    answers: [standard, legacy]
    headers: {Authorization: "Bearer ${A_KEY_THAT_NOBODY_SET}"}
"""
BAD = """\
endpoints:
  /chat:
    upstream: demo:legcy
    timeouts: {idel: 5s}
"""


def written(folder: Path, text: str) -> str:
    file = folder / "gateway.yaml"
    file.write_text(text)
    return str(file)


def test_check_of_a_good_file_succeeds(tmp_path: Path) -> None:
    done = run("check", written(tmp_path, GOOD))
    assert done.returncode == 0
    assert "1 endpoint on [::1]:9000" in done.stdout.decode()
    assert "POST /chat/{id}  from http://127.0.0.1:9000 (legacy) to standard, legacy" in done.stdout.decode()


def test_check_prints_upstreams_in_their_order(tmp_path: Path) -> None:
    text = "{upstream: [main, 'http://u:pw@127.0.0.1:9001/x', 'demo:legacy'], speaks: legacy}"
    file = written(
        tmp_path,
        f"upstreams: {{main: {{url: 'http://127.0.0.1:9000', speaks: ragflow}}}}\nendpoints:\n  /a: {text}\n"
        "  /b: {upstream: main}\n",
    )
    told = run("check", file).stdout.decode()
    assert "from main (legacy), then http://127.0.0.1:9001 (legacy), then demo:legacy (legacy) to" in told
    assert "POST /b  from main (ragflow) to standard" in told
    facts = json.loads(run("check", "--json", file).stdout)["endpoints"]
    assert facts[1]["upstreams"] == [{"upstream": "main", "speaks": "ragflow"}]
    assert [upstream["upstream"] for upstream in facts[0]["upstreams"]] == [
        "main",
        "http://127.0.0.1:9001",
        "demo:legacy",
    ]


def test_callers_and_certificates_are_checked_without_the_environment(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "listen: 0.0.0.0:8080\nauth: {keys: {web: '${A_KEY_THAT_NOBODY_SET}'}}\n"
        "upstreams: {u: {url: 'https://h', tls: {ca: gone.pem}}}\nendpoints: {/a: {upstream: u}}\n",
    )
    assert run("check", file).returncode == 0
    done = run("check", "--env", file)
    assert done.returncode == 78
    assert [line.split(" ")[1] for line in done.stderr.decode().splitlines()] == [
        "auth.keys.web:",
        "upstreams.u.tls.ca:",
    ]


def test_check_reads_the_environment_only_if_asked(tmp_path: Path) -> None:
    done = run("check", "--env", written(tmp_path, GOOD))
    assert done.returncode == 78
    assert b"A_KEY_THAT_NOBODY_SET" in done.stderr


def test_check_of_a_bad_file_prints_all_problems(tmp_path: Path) -> None:
    file = written(tmp_path, BAD)
    done = run("check", file)
    assert done.returncode == 78
    assert done.stdout == b""
    problems = done.stderr.decode().splitlines()
    assert [problem.split(" ")[0] for problem in problems] == [f"{file}:3:15", f"{file}:4:16"]
    assert "did you mean 'legacy'?" in problems[0]
    assert "did you mean 'idle'?" in problems[1]


def test_check_with_json_prints_endpoints_or_problems(tmp_path: Path) -> None:
    good = json.loads(run("check", "--json", written(tmp_path, GOOD)).stdout)
    assert good["ok"] is True
    assert good["endpoints"][0]["answers"] == ["standard", "legacy"]
    done = run("check", "--json", written(tmp_path, BAD))
    assert done.returncode == 78
    bad = json.loads(done.stdout)
    assert [(problem["line"], problem["path"]) for problem in bad["problems"]] == [
        (3, "endpoints./chat.upstream"),
        (4, "endpoints./chat.timeouts.idel"),
    ]


def test_check_of_a_missing_file_fails(tmp_path: Path) -> None:
    done = run("check", cwd=tmp_path)
    assert done.returncode == 78
    assert done.stderr.decode().strip() == "config.yaml: cannot be read: No such file or directory"


REMARKED = """\
auth: {keys: {web: "$WEB_KEY_OF_MINE", other: "pa$sword-that-is-long"}}
upstreams:
  a: {url: "http://127.0.0.1:9000", headers: {Authorization: "Bearer $TOKEN", X-B: "{{ TOKEN }}"}}
endpoints:
  /v1/chat/completions: {models: {a: a}}
  /x: {upstream: "http://$HOST:9000"}
  /v1/messages: {models: {a: a}, answers: [standard]}
"""


def test_check_of_a_probable_mistake_remarks_and_succeeds(tmp_path: Path) -> None:
    file = written(tmp_path, REMARKED)
    done = run("check", file)
    assert done.returncode == 0
    told = [line.removeprefix(f"{file}:") for line in done.stderr.decode().splitlines()]
    assert told == [
        "1:20 auth.keys.web: $WEB_KEY_OF_MINE goes out as it is; a variable is ${WEB_KEY_OF_MINE}",
        "3:62 upstreams.a.headers.Authorization: $TOKEN goes out as it is; a variable is ${TOKEN}",
        "3:84 upstreams.a.headers.X-B: {{ TOKEN }} goes out as it is; a variable is ${TOKEN}",
        "5:26 endpoints./v1/chat/completions.models: clients of this path read openai-chat, but get "
        "standard; probably meant: answers: [openai-chat]",
        "6:18 endpoints./x.upstream: $HOST goes out as it is; a variable is ${HOST}",
    ]
    assert json.loads(run("check", "--json", file).stdout)["remarks"] == [f"{file}:{line}" for line in told]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a file without an end")
def test_check_of_a_file_that_never_ends_fails() -> None:
    ran = run("check", "/dev/zero")
    assert (ran.returncode, ran.stderr.decode()) == (78, "/dev/zero: is larger than 16 MiB\n")


def test_check_of_standard_input_that_is_too_large_fails() -> None:
    ran = run("check", "-", input=(GOOD + "#").encode().ljust((16 << 20) + 1, b"#"))
    assert (ran.returncode, ran.stderr.decode()) == (78, "-: is larger than 16 MiB\n")
