"""`--config FILE`: makes the home-made dialects of a configuration available to commands."""

from __future__ import annotations

import argparse
from importlib import import_module

from streamweir import ConfigurationError
from streamweir.codec.dialects import Dialects
from streamweir.codec.registry import process_dialects
from streamweir_gateway.cli.command import BAD_CONFIGURATION, CommandFailed

__all__ = ["add_config_option", "home_made"]


def add_config_option(parser: argparse.ArgumentParser) -> None:
    """Add `--config`, with which a command can use the dialects of a file; `home_made` reads it."""
    parser.add_argument(
        "--config",
        metavar="CONFIG",
        help="a file whose `dialects:` may be named too; needs the extra 'gateway'",
    )


def home_made(path: str | None) -> Dialects:
    """Return all installed dialects, and the dialects of the file at `path`, if it is given.

    Raises:
        CommandFailed: the file or a dialect in it cannot be used, or no YAML reader is installed.
    """
    known = process_dialects()
    if path is None:
        return known
    try:
        loading = import_module("streamweir_gateway.config.loading")
    except ModuleNotFoundError as missing:
        needed = "--config needs the extra 'gateway': pip install 'streamweir[gateway]'"
        raise CommandFailed(needed) from missing
    try:
        found: Dialects = loading.load_dialects(path, dialects=known)
    except ConfigurationError as errors:
        raise CommandFailed(f"{path} cannot be used:\n{errors}", BAD_CONFIGURATION) from errors
    return found
