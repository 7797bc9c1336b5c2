"""Dialects of real systems, written in YAML, read what those systems sent, however the network cuts it."""

from collections.abc import Iterator

import pytest

from cases import for_each
from places import HOME_MADE
from streams import INPUTS, PLANTED, Recorded, dialect_of, events_of, one_byte_each, random_cuts, translate
from streamweir import Decoder, load_dialect
from streamweir.codec.dialect import Dialect
from streamweir.testing import check_stream

FOLDERS = sorted(path for path in HOME_MADE.iterdir() if path.is_dir())
STREAMS = [
    Recorded(folder.name, path)
    for folder in FOLDERS
    for path in sorted(folder.iterdir())
    if path.suffix in INPUTS
]


@pytest.fixture(scope="module")
def dialects() -> dict[str, Dialect]:
    """By name; their own examples run while they are loaded."""
    return {
        folder.name: Dialect.of_class(folder.name, load_dialect(folder / "dialect.yaml"))
        for folder in FOLDERS
    }


@for_each("stream", STREAMS, group=dialect_of)
def test_home_made_dialect_gives_the_expected_events(
    stream: Recorded, dialects: dict[str, Dialect], update: bool
) -> None:
    output = translate([stream.body], speaks=dialects[stream.dialect])
    if update:
        stream.expected.write_bytes(output)
    assert output.decode() == stream.expected.read_text()
    assert check_stream(output, framing="ndjson") == []


@for_each("stream", STREAMS, group=dialect_of)
def test_home_made_dialect_does_not_depend_on_the_cuts(
    stream: Recorded, dialects: dict[str, Dialect]
) -> None:
    speaks = dialects[stream.dialect]
    whole = translate([stream.body], speaks=speaks)
    assert translate(one_byte_each(stream.body), speaks=speaks) == whole
    for seed in range(5):
        assert translate(list(random_cuts(stream.body, seed)), speaks=speaks) == whole


@for_each("stream", STREAMS, group=dialect_of)
def test_text_by_its_form_is_text_by_its_rule(stream: Recorded, dialects: dict[str, Dialect]) -> None:
    fast = dialects[stream.dialect]
    assert fast.decoder is not None

    class Plain(fast.decoder):  # type: ignore[misc, name-defined]
        text_fields = None

    body = b"".join(repeated(stream.body))
    slow = Dialect(stream.dialect, Plain)
    assert translate([body], speaks=fast) == translate([body], speaks=slow)


def repeated(body: bytes) -> Iterator[bytes]:
    """Each block, or line, a few times over, with other texts: as long an answer as a model gives."""
    separator = b"\n\n" if b"data:" in body else b"\n"
    for block in body.replace(b"\r\n", b"\n").split(separator):
        for number in range(6):
            yield block.replace(b"Paris", b"Rome%d" % number).replace(b"Sunny", b"\\u2600%d" % number)
            yield separator


@for_each("stream", STREAMS, group=dialect_of)
def test_home_made_dialect_leaks_nothing_but_the_answer(
    stream: Recorded, dialects: dict[str, Dialect]
) -> None:
    output = translate([stream.body], speaks=dialects[stream.dialect], debug=True)
    for event in events_of(output):
        if event["type"] in ("error", "warning") or event["data"].get("status") == "failed":
            event["data"].pop("result", None)
            assert not [secret for secret in PLANTED if secret in str(event)]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_stream_without_its_end_is_never_complete(folder: object, dialects: dict[str, Dialect]) -> None:
    for stream in STREAMS:
        if stream.path.parent != folder:
            continue
        speaks = dialects[stream.dialect]
        whole = events_of(translate([stream.body], speaks=speaks))
        cut = events_of(translate([stream.body[: len(stream.body) * 2 // 3]], speaks=speaks))
        assert whole[-1]["data"]["status"] != "error" or whole[-2]["data"]["code"] != "UPSTREAM_TRUNCATED"
        assert cut[-1]["data"]["status"] != "completed"


def test_dialect_is_a_class_like_any_other() -> None:
    cls = load_dialect(HOME_MADE / "agno" / "dialect.yaml")
    assert issubclass(cls, Decoder)
    assert cls.detect(b'data: {"event": "RunContent", "content": "Hi"}\n\n') == 0.0
