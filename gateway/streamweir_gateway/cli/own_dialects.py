"""`--dialect module:Class`: adds dialects written in Python for one call of a command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable

from streamweir import ConfigurationError
from streamweir.codec.registry import add_dialect_at
from streamweir_gateway.cli.command import UsageError

__all__ = ["add_dialect_option", "add_dialects"]


def add_dialect_option(parser: argparse.ArgumentParser) -> None:
    """Add `--dialect` to the arguments of a command."""
    parser.add_argument(
        "--dialect",
        dest="own_dialects",
        action="append",
        default=[],
        metavar="[NAME=]MODULE:CLASS",
        help="a dialect of your own in Python, which may be named then; may be repeated",
    )


def add_dialects(places: Iterable[str]) -> None:
    """Add the dialects at `places`. Their modules may be in the working directory.

    Raises:
        UsageError: a dialect cannot be loaded.
    """
    for given in places:
        name, equals, place = given.partition("=")
        if os.getcwd() not in sys.path:
            sys.path.append(os.getcwd())
        try:
            add_dialect_at(place if equals else given, name if equals else None)
        except ConfigurationError as error:
            raise UsageError(f"--dialect {given}: {error}") from error
