"""The common parts of the commands: exit codes, failures, and the way to add a command."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TypeAlias

from streamweir_gateway.importing import importing

__all__ = [
    "BAD_CONFIGURATION",
    "FAILED",
    "INTERRUPTED",
    "OK",
    "USAGE",
    "CommandFailed",
    "Commands",
    "Run",
    "UsageError",
    "add_command",
    "add_help",
    "when_called",
    "with_gateway",
]

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
BAD_CONFIGURATION: Final = 78
"""The exit code EX_CONFIG of sysexits.h."""
INTERRUPTED: Final = 130
"""The exit code after Ctrl-C: 128 + SIGINT, as shells use it."""

Commands = Any
"""The type that `ArgumentParser.add_subparsers` returns: argparse has no public name for it."""

Run: TypeAlias = Callable[[argparse.Namespace], int]
"""Executes a command; returns its exit code."""

_OURS: Final = ("streamweir", "streamweir_gateway")


class CommandFailed(Exception):
    """The command cannot do its work. `str()` of this is the message for the user."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        super().__init__(message)
        self.code = code


class UsageError(Exception):
    """The command line names a thing that does not exist, or is otherwise wrong."""


class PrintHelp(argparse.Action):
    """Prints the help of a parser. argparse's own action hides an error in writing the output."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Print the help and end the command."""
        del namespace, values, option_string
        print(parser.format_help(), end="")
        parser.exit()


def add_help(parser: argparse.ArgumentParser) -> None:
    """Add `-h` and `--help` to a parser that was constructed without them."""
    parser.add_argument("-h", "--help", action=PrintHelp, nargs=0, help="show this help message and exit")


def add_command(
    commands: Commands, name: str, run: Run, *, usage: str, summary: str, description: str, examples: str
) -> argparse.ArgumentParser:
    """Add the command `name`, which `run` executes; return its parser, to add arguments."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        usage=f"streamweir {name} {usage}",
        help=summary,
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    add_help(parser)
    parser.set_defaults(run=run, parser=parser)
    return parser


def when_called(module: str) -> Run:
    """Return a function that runs a command: the function `run` of `module`, imported when it is called."""

    def run(args: argparse.Namespace) -> int:
        implementation: Run = import_module(module).run
        return implementation(args)

    return run


def with_gateway(command: str, module: str) -> Run:
    """Return such a function for a `command` that needs the extra `gateway`."""

    def run(args: argparse.Namespace) -> int:
        try:
            with importing():
                import_module(module)
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] in _OURS:
                raise
            raise CommandFailed(
                f"{command} needs the extra 'gateway': pip install 'streamweir[gateway]'"
            ) from missing
        return when_called(module)(args)

    return run
