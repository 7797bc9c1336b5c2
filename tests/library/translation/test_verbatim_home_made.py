"""Failures of home-made dialects are written by their `write` rules between copied frames."""

from streamweir import Decoder, Translator, load_dialect
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects

LINES = {
    "framing": "lines",
    "rules": [
        {"prefix": "TOK ", "emit": {"type": "content", "content": "${{ _text }}"}},
        {"prefix": "ERR[", "emit": {"type": "error", "message": "${{ _text }}"}},
        {"prefix": "WARN[", "emit": {"type": "warning", "message": "${{ _text }}"}},
    ],
    "terminal": ["END"],
    "write": {
        "rules": [
            {"on": "content", "when": "content != ''", "send": {"text": "TOK ${{ content }}"}},
            {"on": "error", "send": {"text": "ERR[${{ _count }}] ${{ message }}"}},
            {"on": "warning", "send": {"text": "WARN[${{ _count }}] ${{ message }}"}},
            {"on": "session_end", "when": "status != 'error'", "send": "END"},
        ]
    },
}


def written(body: bytes) -> bytes:
    """Return what a client of the dialect gets of `body`."""
    decoder = load_dialect(LINES)
    assert issubclass(decoder, Decoder)
    dialects = Dialects([Dialect("acme", decoder, vars(decoder)["encoder"])])
    translator = Translator(speaks="acme", answers="acme", framing="lines", dialects=dialects)
    return translator.feed(body) + translator.close()


def test_plain_text_error_of_the_upstream_goes_by_the_write_rules() -> None:
    expected = b"TOK Hi\nERR[0] The service reported an error. Please try again.\n"
    assert written(b"TOK Hi\nERR[7] secret of db1\n") == expected


def test_plain_text_warning_of_the_upstream_goes_by_the_write_rules_and_the_stream_continues() -> None:
    lines = written(b"TOK Hi\nWARN[3] secret of db1\nTOK you\nEND\n").splitlines()
    assert lines[0::2] == [b"TOK Hi", b"TOK you"]
    assert lines[1].startswith(b"WARN[0] The service")
    assert lines[3:] == [b"END"]


def test_error_of_the_gateway_goes_by_the_write_rules() -> None:
    lines = written(b"TOK Hi\n").splitlines()
    assert lines[0] == b"TOK Hi"
    assert lines[1].startswith(b"ERR[0] The answer broke off")
    assert len(lines) == 2


def test_healthy_frames_of_the_same_dialect_are_copied() -> None:
    assert written(b"TOK Hi\nother words\nEND\n") == b"TOK Hi\nother words\nEND\n"
