"""The client's request that is given to `streamweir request`, and its refusal."""

from __future__ import annotations

import argparse

from streamweir.jsontext import write_json_text
from streamweir.requests.errors import RequestError
from streamweir_gateway.cli.command import FAILED
from streamweir_gateway.cli.input_output import STDIN, whole_input

__all__ = ["body_of", "print_refusal"]


def body_of(args: argparse.Namespace) -> bytes:
    """Return the client's body: from the argument, or from standard input.

    Raises:
        CommandFailed: standard input cannot be read, or is too large.
    """
    return whole_input(STDIN) if args.body == STDIN else args.body.encode("utf-8", "surrogateescape")


def print_refusal(error: RequestError) -> int:
    """Print the refusal that the client would get, and return the exit code."""
    refused = {"error": {"code": error.code, "message": str(error)}, "status": error.status}
    print(write_json_text(refused))
    return FAILED
