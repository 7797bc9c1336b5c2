"""The common half of the strict models: the next step, refusals, what was made."""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from scripted_upstream import SSE, Call, answer, chunk
from strict_upstreams.script import STEPS, Step

__all__ = ["Refused", "StrictModel", "exact", "pieces_of"]

PIECE: Final = 7
Body = dict[str, Any]


class Refused(Exception):
    """A request that the service refuses.

    Args:
        message: of the error.
        status: of HTTP.
        code: of the error, in the services that have one.
    """

    def __init__(self, message: str, *, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class StrictModel:
    """A model behind one protocol; an instance is the script of `scripted_upstream.upstream`.

    Attributes:
        accepted: the bodies that were answered with a stream.
        refusals: the messages of the errors.
        last: the last turn in the form in which the service wants to see it again.

    Args:
        steps: of the conversation; after the last one it begins anew.
        name: a part of every id and signature, so that two models never make the same.
    """

    def __init__(self, steps: Sequence[Step] = STEPS, *, name: str = "m") -> None:
        self.accepted: list[Body] = []
        self.refusals: list[str] = []
        self.steps = steps
        self.name = name
        self.last: Any = None
        self.made = 0

    async def __call__(self, call: Call) -> None:
        """Answer one request."""
        body: Body = json.loads(call.body, parse_int=exact, parse_float=exact)
        try:
            self.check(body)
        except Refused as refused:
            self.refusals.append(str(refused))
            data = json.dumps(self.error(refused)).encode()
            line = f"{refused.status} Bad Request"
            await call.send(answer(data, "Content-Type: application/json", status=line))
            return
        self.accepted.append(body)
        step = self.steps[self.turns_in(body) % len(self.steps)]
        await call.send(SSE, *(chunk(frame) for frame in self.frames(body, step)), b"0\r\n\r\n")

    def new(self, kind: str) -> str:
        """Return a new id or signature: base64 with `+`, `/` and `=`, never the same."""
        self.made += 1
        digest = hashlib.sha256(f"{self.name}:{kind}:{self.made}".encode()).digest()
        return base64.b64encode(b"\xfb\xff" + digest).decode()

    def new_id(self, prefix: str) -> str:
        """Return a new id of letters and digits."""
        self.made += 1
        return f"{prefix}{hashlib.sha256(f'{self.name}:{self.made}'.encode()).hexdigest()[:20]}Z"

    # What a protocol adds

    def check(self, body: Body) -> None:
        """Raise `Refused` for a history that the service refuses."""
        raise NotImplementedError

    def turns_in(self, body: Body) -> int:
        """Return how many turns of the assistant a request has."""
        raise NotImplementedError

    def frames(self, body: Body, step: Step) -> Iterable[bytes]:
        """Return the frames of the stream."""
        raise NotImplementedError

    def error(self, refused: Refused) -> Body:
        """Return the body of an error."""
        error = {"message": str(refused), "type": "invalid_request_error", "param": None}
        return {"error": {**error, "code": refused.code or "invalid_request_error"}}


class exact(str):  # noqa: N801 (a number)
    """The digits of a number, as they are in the request: unequal to the text of the same characters."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, exact) and str.__eq__(self, other)

    def __hash__(self) -> int:
        return super().__hash__()


def pieces_of(text: str) -> Iterator[str]:
    """Yield a text in pieces."""
    for start in range(0, len(text), PIECE):
        yield text[start : start + PIECE]


def loaded(text: str) -> Any:
    """Return JSON with exact numbers, objects as lists of pairs: the order of keys counts."""
    return json.loads(text, parse_int=exact, parse_float=exact, object_pairs_hook=list)


def ordered(value: Any) -> Any:
    """Return a value of a body in the form of `loaded`."""
    if isinstance(value, dict):
        return [(key, ordered(item)) for key, item in value.items()]
    return [ordered(item) for item in value] if isinstance(value, list) else value


def sse(data: Any, event: str | None = None) -> bytes:
    """Return one frame of SSE; arguments inside are spliced in as `Raw` texts."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {written(data)}\n\n".encode()


class Raw(str):
    """JSON that is written byte for byte."""

    __slots__ = ()


def written(value: Any) -> str:
    """Return the JSON of a value with the texts of `Raw` in it."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
