"""Embedded backends for trying the gateway: `upstream: demo:<dialect>`.

Each backend is a real HTTP server on loopback. It answers every request with a scripted agent run in its
dialect, at the pace of a live model. The words `fail`, `cut` and `stall` in the message make the run fail in
that way. The word `ask` makes the run ask for a form; a request with the answer continues the run.
"""

from streamweir_gateway.demo.server import serve_demos

__all__ = ["serve_demos"]
