"""The work of `streamweir record`; importing it needs the extra `gateway`."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from streamweir.capture.masking import SecretMask
from streamweir.errors import ConfigurationError
from streamweir.options.durations import parse_duration
from streamweir_gateway.cli.command import FAILED, OK, CommandFailed, UsageError
from streamweir_gateway.cli.home_made import home_made
from streamweir_gateway.cli.input_output import whole_input
from streamweir_gateway.recording.recorder import Recording, RecordingOptions
from streamweir_gateway.recording.request import ask
from streamweir_gateway.upstream.request import Origin, UpstreamRequest, authorization_in

__all__ = ["run"]

_ACCEPT: Final = "text/event-stream, application/x-ndjson;q=0.9, */*;q=0.5"
_OWNER_ONLY: Final = 0o600
_IN_A_TARGET: Final = "/?:@!$&'()*+,;=%[]~-._"


def run(args: argparse.Namespace) -> int:
    """Send the request, write the capture; return an exit code that tells whether the stream was whole."""
    request = _request(args)
    options = _options(args)
    idle = _idle(args.idle)
    mask = SecretMask(_secrets(args.url))
    with _output(args.output) as write:
        recording = Recording(args.url, request, options, mask, write)
        try:
            is_whole = asyncio.run(ask(request, recording, idle=idle))
        except KeyboardInterrupt:
            recording.stop()
            raise
    if not is_whole:
        print(f"streamweir: {recording.outcome}", file=sys.stderr)
    return OK if is_whole else FAILED


def _options(args: argparse.Namespace) -> RecordingOptions:
    try:
        dialects = home_made(args.config)
        if args.speaks != "auto":
            dialects.to_read(args.speaks)
    except ConfigurationError as error:
        raise UsageError(str(error)) from error
    return RecordingOptions(args.speaks, dialects, with_content=not args.metadata)


def _idle(text: str) -> float | None:
    try:
        return parse_duration(text, name="--idle")
    except ConfigurationError as error:
        raise UsageError(str(error)) from error


# What is asked


def _request(args: argparse.Namespace) -> UpstreamRequest:
    parts = urlsplit(args.url)
    if parts.scheme in ("ws", "wss"):
        raise UsageError("URL: a WebSocket cannot be recorded; put an endpoint with this upstream before it")
    if parts.scheme not in ("http", "https"):
        raise UsageError("URL: must begin with http:// or https://")
    try:
        origin = Origin.of(args.url)
    except (ValueError, UnicodeError) as error:
        raise UsageError(f"URL: {error}") from error
    body = b"" if args.data is None else _body(args.data)
    method = (args.method or ("GET" if args.data is None else "POST")).upper()
    if not method.isascii() or not method.isalpha():
        raise UsageError(f"--method {method}: no HTTP method")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return UpstreamRequest(method, origin, quote(target, safe=_IN_A_TARGET), _headers(args, body), body)


def _headers(args: argparse.Namespace, body: bytes) -> list[tuple[str, str]]:
    given = [_header(text) for text in args.header]
    names = {name.lower() for name, _ in given}
    usual = {"accept": _ACCEPT, "accept-encoding": "identity"}
    if body:
        usual["content-type"] = "application/json"
    if (authorization := authorization_in(args.url)) is not None:
        usual["authorization"] = authorization
    return [*((name, value) for name, value in usual.items() if name not in names), *given]


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    is_name = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    if not colon or not is_name or not value.strip().isprintable():
        raise UsageError(f"--header {name}: must be 'NAME: VALUE'")
    return name, value.strip()


def _body(text: str) -> bytes:
    return whole_input(text[1:]) if text.startswith("@") else text.encode("utf-8", "surrogateescape")


def _secrets(url: str) -> Iterator[str]:
    """Yield the password in a URL, percent-encoded and decoded."""
    if password := urlsplit(url).password:
        yield from (password, unquote(password))


@contextmanager
def _output(name: str | None) -> Iterator[Callable[[bytes], object]]:
    if name is None:
        yield _write_at_once
        return
    try:
        number = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY)
    except OSError as error:
        raise CommandFailed(f"cannot write {name}: {error.strerror}") from error
    with os.fdopen(number, "wb", buffering=0) as file:
        with suppress(OSError):
            os.fchmod(number, _OWNER_ONLY)
        yield file.write


def _write_at_once(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
