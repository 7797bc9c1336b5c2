"""Whether a body is one JSON document or a stream of lines."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir_gateway.runs.json_document import PossibleDocument, read_document
from streamweir_gateway.upstream.response import UpstreamResponse
from streamweir_gateway.upstream.transport import TransportResponse

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Reads:
    """A body that comes in these reads."""

    def __init__(self, reads: list[bytes]) -> None:
        self.left = reads

    @property
    def is_over(self) -> bool:
        return not self.left

    is_ready = True

    async def read(self) -> bytes:
        return self.left.pop(0) if self.left else b""

    def relay(self, take: object) -> None:
        del take

    def let_end(self) -> None: ...

    def abort(self) -> None: ...

    async def aclose(self) -> None: ...


async def read(body: bytes, size: int) -> tuple[PossibleDocument, bytes]:
    """Read a body in pieces of `size` bytes; return the document found, and all bytes read."""
    reads = [body[at : at + size] for at in range(0, len(body), size)]
    response = UpstreamResponse(TransportResponse(200, [], Reads(reads)))
    found = await read_document(response, b"", is_over=False)
    rest = b""
    while data := await response.read():
        rest += data
    return found, found.data + rest


BODIES = [
    (b'{"a": 1}', True),
    (b'\r\n \n{"a": 1}\n \n', True),
    (b'[\n{"a": 1}\n]', True),
    (b'{\n"a": 1\n}\n', True),
    (b'{"a":\n1}', True),
    (b'{"a": 1}\n{"a": 2}\n', False),
    (b'\n{"a": 1}\n\n \n{"a": 2}\n', False),
    (b'data: {"a": 1}\n\n', False),
    (b'"a text"', False),
    (b"{", False),
    (b" \n", False),
    (b"", False),
]


@pytest.mark.parametrize(("body", "is_document"), BODIES, ids=repr)
async def test_body_is_a_document_or_a_stream_in_reads_of_any_size(body: bytes, is_document: bool) -> None:
    for size in (1, 2, 3, 5, 1000):
        found, whole = await read(body, size)
        assert found.is_document == is_document, size
        assert whole == body, size


@given(st.text(alphabet='{}[]"a1:, \r\n', max_size=30), st.integers(1, 7))
async def test_reads_of_any_size_never_change_the_answer(text: str, size: int) -> None:
    body = text.encode()
    cut, whole = await read(body, size)
    at_once, _ = await read(body, 100)
    assert cut.is_document == at_once.is_document
    assert whole == body


@pytest.mark.parametrize("between", [b"", b"\n", b'"}\n' + b" " * 1000])
async def test_many_small_reads_take_time_by_their_bytes_only(between: bytes) -> None:
    size = 256 << 10
    body = b'{"a":"' + b"x" * (size // 2) + between + b" " * (size // 2)
    began = time.process_time()
    _, whole = await read(body, 64)
    assert whole == body
    assert time.process_time() - began < 2, "each read looks at all bytes before it"
