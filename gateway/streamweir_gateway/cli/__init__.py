"""The command `streamweir`: convert, detect, dialects, serve, check.

`convert`, `detect` and `dialects` need nothing but the library; `serve` and `check` need the extra `gateway`,
which is imported only when they run.
"""

from streamweir_gateway.cli.entry import main

__all__ = ["main"]
