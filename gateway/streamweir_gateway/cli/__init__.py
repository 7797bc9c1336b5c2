"""The command `streamweir`: a module for each command, and a second one for the work of the larger ones.

`serve`, `check`, `record` and `request --endpoint` need the extra `gateway`, as does `--config`; it is
imported only when they run. The other commands need nothing but the library.
"""

from streamweir_gateway.cli.entry import main

__all__ = ["main"]
