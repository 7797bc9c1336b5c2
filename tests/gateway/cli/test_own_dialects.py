"""Dialects of one's own in Python: named by their class, on the command line and in the file."""

import json
from pathlib import Path

import pytest

from command_line import run

pytestmark = pytest.mark.slow

MODULE = """
from streamweir import Decoder, Encoder, Frame, register_dialect
from streamweir.events import Content, SessionEnd


class AcmeEncoder(Encoder):
    framings = ("ndjson",)

    def encode(self, event, stamp):
        match event:
            case Content(content=text) if text:
                return [Frame('{"acme": "%s"}' % text)]
            case SessionEnd():
                return [Frame('{"acme": false}')]
        return []


@register_dialect("acme", framing="ndjson", encoder=AcmeEncoder)
class Registered(Decoder):
    def decode(self, frame):
        text = frame.json()["acme"]
        return [Content(text)] if text else [SessionEnd()]


class PlainDecoder(Registered):
    encoder = AcmeEncoder

    @classmethod
    def detect(cls, head):
        return 0.9 if b"acme" in head else 0.0
"""
BODY = b'{"acme": "Hi"}\n{"acme": false}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "acme_stream.py").write_text(MODULE)
    (tmp_path / "recorded.ndjson").write_bytes(BODY)
    return tmp_path


def test_registered_class_has_its_name(folder: Path) -> None:
    own = ("--dialect", "acme_stream:Registered")

    done = run("convert", *own, "--from", "acme", "--framing", "json", "recorded.ndjson", cwd=folder)
    assert json.loads(done.stdout)["message"]["content"] == "Hi"

    done = run("convert", *own, "--from", "acme", "--to", "acme", "recorded.ndjson", cwd=folder)
    assert done.stdout == BODY


def test_other_class_is_named_after_itself_or_as_is_asked(folder: Path) -> None:
    for given, name in (("acme_stream:PlainDecoder", "plain"), ("river=acme_stream:PlainDecoder", "river")):
        assert (
            run("detect", "--dialect", given, "recorded.ndjson", cwd=folder).stdout.strip() == name.encode()
        )


@pytest.mark.parametrize(
    "given",
    [
        "acme_stream",
        "acme_stream:Missing",
        "nowhere:Acme",
        "acme_stream:Frame",
        "acme_stream:register_dialect",
    ],
)
def test_own_dialect_that_is_no_dialect_is_refused(given: str, folder: Path) -> None:
    done = run("convert", "--dialect", given, "recorded.ndjson", cwd=folder)

    assert done.returncode == 2
    assert given.encode() in done.stderr
    assert b"Traceback" not in done.stderr


def test_file_finds_a_class_in_its_own_folder(folder: Path) -> None:
    endpoint = (
        "endpoints: {/chat: {upstream: 'http://127.0.0.1:9', speaks: acme, answers: [acme, standard]}}\n"
    )
    (folder / "good.yaml").write_text(f'dialects: {{acme: {{python: "acme_stream:Registered"}}}}\n{endpoint}')
    (folder / "bad.yaml").write_text(f'dialects: {{acme: {{python: "acme_stream:Missing"}}}}\n{endpoint}')
    (folder / "named.yaml").write_text(endpoint)

    assert run("check", str(folder / "good.yaml")).returncode == 0
    done = run("check", str(folder / "bad.yaml"))
    assert done.returncode == 78
    assert b"dialects.acme.python" in done.stderr
    assert b"Missing" in done.stderr
    assert run("check", str(folder / "named.yaml"), cwd=folder).returncode == 78
    assert run("check", "--dialect", "acme_stream:Registered", "named.yaml", cwd=folder).returncode == 0

    done = run(
        "convert", "--config", str(folder / "good.yaml"), "--from", "acme", "--framing", "json", input=BODY
    )
    assert json.loads(done.stdout)["message"]["content"] == "Hi"
