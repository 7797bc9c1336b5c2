"""`check --print-effective`: every value that holds, where it was written, and no secret."""

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import run
from places import ROOT
from streamweir_gateway.config.effective import EffectiveValue, effective_values

FILE = """\
defaults:
  timeouts: {idle: 10s}
  headers: {X-Api-Key: plain-secret, X-Team: "${TEAM:-hidden-default}"}
upstreams:
  support:
    url: http://user:hunter2@127.0.0.1:1/
    speaks: legacy
    timeouts: {idle: 20s}
endpoints:
  /chat:
    upstream: [support, "http://127.0.0.1:2"]
    heartbeat: 5s
    warnings: [{message: Soon.}]
auth:
  keys: {web: "${WEB_KEY}", batch: {key: [plain-key-of-batch], rate_limit: 60/minute}}
dialects:
  acme: {framing: text}
"""

SECRETS = ("plain-secret", "hidden-default", "hunter2", "plain-key-of-batch")


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(FILE)
    return path


def by_path(file: Path) -> dict[str, EffectiveValue]:
    values = [*effective_values(file)]
    found = {value.path: value for value in values}
    assert len(found) == len(values)
    return found


@pytest.mark.parametrize(
    ("path", "value", "origin", "line"),
    [
        ("listen", "127.0.0.1:8080", "", None),
        ("endpoints./chat.heartbeat", "5s", "endpoints./chat.heartbeat", 12),
        ("endpoints./chat.upstreams[0].timeouts.idle", "20s", "upstreams.support.timeouts.idle", 8),
        ("endpoints./chat.upstreams[1].timeouts.idle", "10s", "defaults.timeouts.idle", 2),
        ("endpoints./chat.upstreams[1].timeouts.connect", "5s", "", None),
        ("endpoints./chat.upstreams[1].url", "http://127.0.0.1:2", "endpoints./chat.upstream[1]", 11),
        ("endpoints./chat.warnings[0].message", "Soon.", "endpoints./chat.warnings[0].message", 13),
        ("endpoints./chat.on_disconnect", "cancel", "", None),
        ("endpoints./chat.headers.X-Api-Key", "[redacted]", "defaults.headers.X-Api-Key", 3),
        ("endpoints./chat.headers.X-Team", "${TEAM}", "defaults.headers.X-Team", 3),
        ("upstreams.support.url", "http://[redacted]@127.0.0.1:1/", "upstreams.support.url", 6),
        ("auth.keys.web.key", "[redacted]", "auth.keys.web", 15),
        ("auth.keys.batch.rate_limit", "60/minute", "auth.keys.batch.rate_limit", 15),
        ("server.workers", 1, "", None),
        ("dialects.acme", "home-made", "dialects.acme", 17),
    ],
)
def test_effective_value_has_its_origin(
    file: Path, path: str, value: Any, origin: str, line: int | None
) -> None:
    found = by_path(file)[path]
    assert (found.value, found.origin) == (value, origin)
    assert (found.position.line if found.position else None) == line


def test_endpoint_that_asks_for_no_key_is_shown_as_open(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    open_to_all = "endpoints: {/chat: {upstream: demo:legacy, auth: open}}\n"
    keys = "auth: {keys: {web: a-key-of-the-web}}\n"
    file.write_text(open_to_all + keys)
    assert by_path(file)["endpoints./chat.auth"].value == "open"
    file.write_text("endpoints: {/chat: {upstream: demo:legacy}}\nauth: open\n")
    assert by_path(file)["auth"].value == "open"


def test_effective_values_are_printed_without_secrets(file: Path) -> None:
    done = run("check", "--print-effective", "config.yaml", cwd=file.parent)
    assert done.returncode == 0
    text = done.stdout.decode()
    assert 'endpoints./chat.heartbeat: "5s"  # config.yaml:12:16\n' in text
    idle = 'upstreams[1].timeouts.idle: "10s"  # config.yaml:2:20 defaults.timeouts.idle\n'
    assert idle in text
    assert "server.workers: 1  # default\n" in text
    assert not [secret for secret in SECRETS if secret in text]


def test_effective_values_with_json_are_an_object(file: Path) -> None:
    done = run("check", "--print-effective", "--json", str(file))
    assert not [secret for secret in SECRETS if secret in done.stdout.decode()]
    effective = {value["path"]: value for value in json.loads(done.stdout)["effective"]}
    assert effective["endpoints./chat.heartbeat"] == {
        "path": "endpoints./chat.heartbeat",
        "value": "5s",
        "from": "endpoints./chat.heartbeat",
        "line": 12,
        "column": 16,
    }
    assert effective["debug"] == {
        "path": "debug",
        "value": False,
        "from": "default",
        "line": None,
        "column": None,
    }


def test_every_good_file_can_be_shown() -> None:
    for path in [ROOT / "config.yaml", *sorted((ROOT / "tests/gateway/config/cases").glob("good-*.yaml"))]:
        assert by_path(path)
