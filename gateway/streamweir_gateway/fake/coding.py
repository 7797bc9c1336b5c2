"""Codes a body with a content coding. Every `Send` is coded and flushed, so that events are not delayed."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from importlib import import_module
from typing import Final, Protocol

from streamweir.errors import ConfigurationError
from streamweir_gateway.fake.faults import Fault
from streamweir_gateway.fake.steps import Break, Send, Steps

__all__ = ["check_codings", "coded", "content_encoding"]

_GZIP: Final = 16 + zlib.MAX_WBITS


class _Packer(Protocol):
    def pack(self, data: bytes) -> bytes: ...

    def finish(self) -> bytes: ...


class _Deflate:
    def __init__(self, wbits: int) -> None:
        self._packer = zlib.compressobj(wbits=wbits)

    def pack(self, data: bytes) -> bytes:
        return self._packer.compress(data) + self._packer.flush(zlib.Z_SYNC_FLUSH)

    def finish(self) -> bytes:
        return self._packer.flush()


class _Brotli:
    def __init__(self) -> None:
        self._packer = import_module("brotli").Compressor(quality=5)

    def pack(self, data: bytes) -> bytes:
        packed: bytes = self._packer.process(data) + self._packer.flush()
        return packed

    def finish(self) -> bytes:
        packed: bytes = self._packer.finish()
        return packed


def check_codings(faults: Iterable[Fault]) -> None:
    """Raise ConfigurationError if the package of a coding is not installed."""
    if any(content_encoding(fault) == "br" for fault in faults if fault.kind.place == "coding"):
        try:
            import_module("brotli")
        except ImportError:
            raise ConfigurationError("the br faults need the package brotli: pip install brotli") from None


def content_encoding(fault: Fault | None) -> str | None:
    """Return the `Content-Encoding` header of the response; None without a coding."""
    if fault is None:
        return None
    return "fake" if fault.name == "unknown-coding" else fault.name.partition("-")[0]


def coded(steps: Steps, fault: Fault | None) -> Steps:
    """Return `steps` with the body coded in the way that `fault` says."""
    if fault is None or fault.name == "unknown-coding":
        return steps
    return _coded(steps, _packer(content_encoding(fault)), is_cut=fault.name.endswith("-cut"))


def _packer(name: str | None) -> _Packer:
    return _Brotli() if name == "br" else _Deflate(_GZIP if name == "gzip" else zlib.MAX_WBITS)


def _coded(steps: Steps, packer: _Packer, *, is_cut: bool) -> Steps:
    for step in steps:
        match step:
            case Send(data):
                yield Send(packer.pack(data))
            case Break("stop"):
                break
            case _:
                yield step
                if isinstance(step, Break):
                    return
    if not is_cut:
        yield Send(packer.finish())
