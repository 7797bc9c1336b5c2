"""Secrets that a server spreads over the texts of several frames."""

import itertools
import json
import string
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir.capture import CutBodyMask, SecretMask

KNOWN = "hunter22-of-the-file"
FORMS = ("sk-proj-abcDEF1234567890", "ghp_16C7e42F292c6912E7710c838347Ae178B4a")

FRAMES: dict[str, Callable[[int, str], str]] = {
    "sse": lambda n, text: f'data: {{"id": "m-{n}", "type": "token", "content": {json.dumps(text)}}}\n\n',
    "ndjson": lambda n, text: f'{{"message": {{"content": {json.dumps(text)}}}, "done": false}}\n',
    "openai": lambda n, text: (
        f'data: {{"id":"chatcmpl-1","choices":[{{"index":0,"delta":{{"content":{json.dumps(text)}}}}}]}}\n\n'
    ),
    "data stream": lambda n, text: f"0:{json.dumps(text)}\n",
    "plain": lambda n, text: f"data: {text}\n\n",
}


def written(form: str, texts: Sequence[str]) -> bytes:
    """The frames of some texts."""
    return "".join(FRAMES[form](n, text) for n, text in enumerate(texts)).encode()


def texts_of(form: str, body: bytes) -> str:
    """The joined texts of frames."""
    lines = [line for line in body.decode().splitlines() if line]
    found: list[str] = []
    for line in lines:
        content = line.removeprefix("data: ").removeprefix("0:")
        value = content if form == "plain" else json.loads(content)
        while isinstance(value, (dict, list)):
            value = (
                value[0]
                if isinstance(value, list)
                else value[[*value][-1]]
                if "choices" in value
                else (value.get("message") or value.get("delta") or value["content"])
            )
        found.append(value)
    return "".join(found)


def masked(body: bytes, ends: Sequence[int]) -> tuple[bytes, int]:
    """The body, cut at some places, and the number of its secrets."""
    places = sorted({0, len(body), *(end for end in ends if end < len(body))})
    mask = CutBodyMask(SecretMask([KNOWN]))
    reads = [read for start, end in itertools.pairwise(places) for read in mask.feed(body[start:end])]
    reads += mask.finish()
    assert [len(read.data) for read in reads] == [end - start for start, end in itertools.pairwise(places)]
    return b"".join(read.data for read in reads), sum(read.redacted for read in reads)


@pytest.mark.parametrize("form", FRAMES)
@pytest.mark.parametrize("secret", [KNOWN, *FORMS])
@given(data=st.data())
def test_secret_over_several_texts_is_masked_wherever_it_is_cut(
    form: str, secret: str, data: st.DataObject
) -> None:
    inner = sorted(data.draw(st.sets(st.integers(1, len(secret) - 1), max_size=6)))
    pieces = [secret[start:end] for start, end in itertools.pairwise([0, *inner, len(secret)])]
    body = written(form, ["Tea", "a key:", *pieces, "!", "sells"])
    ends = data.draw(st.lists(st.integers(1, len(body)), max_size=6))
    shown, count = masked(body, ends)
    text = texts_of(form, shown)
    hidden = text.removeprefix("Teaa key:").removesuffix("!sells")
    assert len(text) == len(hidden) + len("Teaa key:!sells")
    seen = hidden.rstrip("*")
    assert secret.startswith(seen)
    assert len(seen) <= (0 if secret == KNOWN else 3), "at most the letters that every such secret has"
    assert count == 1 or seen


@pytest.mark.parametrize("form", FRAMES)
def test_secret_of_single_letters_is_masked_in_reads_of_one_frame(form: str) -> None:
    body = written(form, [*f"a {KNOWN}."])
    frame = len(written(form, ["a"]))
    shown, count = masked(body, range(frame, len(body), frame))
    assert texts_of(form, shown) == "a " + "*" * len(KNOWN) + "."
    assert count == 1


ESCAPES: dict[str, Callable[[str], str]] = {
    "PHP": lambda text: text.replace("/", "\\/"),
    ".NET": lambda text: text.replace("+", "\\u002B"),
    "every letter": lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text),
    "a blank": lambda text: text.replace(" ", "\\u0020"),
}


@pytest.mark.parametrize("escape", ESCAPES)
@pytest.mark.parametrize("secret", ["ab/cdEF+12/34gh+ij", *FORMS])
@given(data=st.data())
def test_secret_whose_texts_are_escaped_is_masked(escape: str, secret: str, data: st.DataObject) -> None:
    inner = sorted(data.draw(st.sets(st.integers(1, len(secret) - 1), min_size=1, max_size=6)))
    pieces = [secret[start:end] for start, end in itertools.pairwise([0, *inner, len(secret)])]
    texts = [ESCAPES[escape](text) for text in ("the key: ", *pieces, " ", "!")]
    frames = [f'data: {{"content": "{text}"}}\n\n'.encode() for text in texts]
    mask = CutBodyMask(SecretMask(["ab/cdEF+12/34gh+ij"]))
    reads = [read for frame in frames for read in mask.feed(frame)]
    shown = b"".join(read.data for read in (*reads, *mask.finish())).decode()
    told = "".join(json.loads(line[6:])["content"] for line in shown.split("\n\n") if line)
    assert len(shown) == sum(map(len, frames))
    assert secret[3:] not in told
    assert told.startswith("the key: ")
    assert told.endswith("* !")


def test_secret_is_masked_where_a_repeated_text_follows_in_a_read_that_is_held() -> None:
    texts = (KNOWN[:8], KNOWN[8:14]), (KNOWN[14:], " Teas", " Teas", KNOWN[:8]), (KNOWN[8:], ".")
    mask = CutBodyMask(SecretMask([KNOWN]))
    reads = [read for some in texts for read in mask.feed(written("sse", some))]
    reads += mask.finish()
    shown = b"".join(read.data for read in reads)
    hidden = "*" * len(KNOWN)
    assert texts_of("sse", shown) == f"{hidden} Teas Teas{hidden}."


def test_texts_without_a_secret_are_neither_changed_nor_held() -> None:
    mask, shown = CutBodyMask(SecretMask([KNOWN])), list[bytes]()
    texts = ["Tea", " sells", " best", " with", " May", ".", "req_0123456789abcdef"] * 40
    body = written("sse", texts)
    for n, text in enumerate(texts):
        frame = FRAMES["sse"](n, text).encode()
        shown += [read.data for read in mask.feed(frame)]
        assert n + 1 - len(shown) <= 1, "only a text whose last letter begins a secret"
    assert b"".join([*shown, *[read.data for read in mask.finish()]]) == body


def test_escaped_letter_with_which_a_secret_begins_is_shown() -> None:
    mask = CutBodyMask(SecretMask(["value-of-the-file"]))
    frame = b'data: {"n": "a \\u0076"}\n\n'
    reads = [*mask.feed(frame), *mask.release()]
    assert b"".join(read.data for read in reads) == frame


EVENTS = ["session_start", *["thinking"] * 2, "tool_call_start", "tool_call_end", "data", *["content"] * 3]
"""Types of events, as they follow one another in the standard protocol."""


@pytest.mark.parametrize("letter", string.ascii_lowercase)
def test_last_letter_of_a_value_is_shown_where_a_secret_begins_with_it(letter: str) -> None:
    lines = [
        f'data: {{"type": "{type_}", "data": {{"content": "Tea {n}.", "status": "success"}}, "n": {n}}}\n\n'
        for n, type_ in enumerate(EVENTS * 40)
    ]
    body = "".join(lines).encode()
    for pieces in ([body, body], [line.encode() for line in lines]):
        mask = CutBodyMask(SecretMask([f"{letter}oken-of-the-file-{letter}"]))
        shown = [read.data for piece in pieces for read in mask.feed(piece)]
        shown += [read.data for read in mask.release()]
        assert b"".join(shown) == b"".join(pieces)


def test_value_that_is_repeated_holds_no_frame_back() -> None:
    mask = CutBodyMask(SecretMask(["token-of-the-file"]))
    frame = b'data: {"type": "content", "content": "Tea."}\n\n'
    assert [len(mask.feed(frame)) for _ in range(4)] == [0, 2, 1, 1]


def test_beginning_of_a_secret_is_held_for_a_bounded_number_of_bytes() -> None:
    mask = CutBodyMask(SecretMask([KNOWN]))
    begun = written("sse", [KNOWN[:8]])
    assert mask.feed(begun) == []
    other = b'data: {"type": "status", "n": 1}\n\n'
    count = next(n for n in range(10_000) if mask.feed(other))
    assert count * len(other) <= 9 << 10


def test_released_beginning_of_a_spread_secret_is_masked() -> None:
    mask = CutBodyMask(SecretMask([KNOWN]))
    assert mask.feed(written("sse", [f"a {KNOWN[:4]}", KNOWN[4:8]])) == []
    (first,) = mask.release()
    assert texts_of("sse", first.data) == "a " + "*" * 8
    (rest,) = mask.feed(written("sse", [KNOWN[8:], " b"]))
    assert texts_of("sse", rest.data) == "*" * (len(KNOWN) - 8) + " b"


@pytest.mark.parametrize("size", range(1, 80))
@pytest.mark.parametrize("texts", [("sk", "-pro", "j-abc", "dEFGH1234567890"), ("pa\\ss-", "123", "4")])
def test_escape_that_two_reads_share_is_masked_as_a_whole_or_not_at_all(
    texts: tuple[str, ...], size: int
) -> None:
    r"""The first letters of a credential are shown: half of `\u006b` may be in a read that is returned."""
    escaped = ["".join(f"\\u{ord(letter):04x}" for letter in text) for text in ("Hello ", *texts)]
    written = [json.dumps(text)[1:-1] for text in ("Hello ", *texts)]
    for pieces in (escaped, written):
        body = b"".join(b'data: {"text":"%s"}\n\n' % piece.encode() for piece in pieces)
        mask = CutBodyMask(SecretMask(["pa\\ss-1234"]))
        reads = [
            read for start in range(0, len(body), size) for read in mask.feed(body[start : start + size])
        ]
        joined = b"".join(read.data for read in [*reads, *mask.finish()])
        shown = [json.loads(line[6:])["text"] for line in joined.splitlines() if line]
        assert shown[0] == "Hello "
        assert texts[-1] not in "".join(shown)
