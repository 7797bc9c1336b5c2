"""The command `streamweir`. Each subcommand is a module; the work of the larger ones is in a second module.

`serve`, `check`, `record` and `request --endpoint` need the extra `gateway`, as does `--config`; it is
imported only when they run. The other commands need only the library.
"""

from collections.abc import Sequence

from streamweir_gateway.importing import importing

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: that of the process); return the exit code.

    Raises:
        SystemExit: raised by argparse, after --help and --version and for a wrong command line (2).
    """
    with importing():
        from streamweir_gateway.cli.entry import main as run  # noqa: PLC0415 - see `importing`
    return run(argv)
