"""The command `streamweir`: a module for each command, and a second one for the work of the larger ones.

`serve`, `check`, `record` and `request --endpoint` need the extra `gateway`, as does `--config`; it is
imported only when they run. The other commands need nothing but the library.
"""

from collections.abc import Sequence

from streamweir_gateway.importing import importing

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` (default: the process's own arguments) asks for; return its exit code.

    Raises:
        SystemExit: by argparse, after --help and --version and for a wrong command line (2).
    """
    with importing():
        from streamweir_gateway.cli.entry import main as run  # noqa: PLC0415 - see `importing`
    return run(argv)
