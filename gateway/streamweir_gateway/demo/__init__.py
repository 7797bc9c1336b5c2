"""Embedded backends to try the gateway with: `upstream: demo:<dialect>`.

Each is a real HTTP server on loopback. It answers every request with one scripted agent run in its dialect,
at the pace of a live model. The words `fail`, `cut` and `stall` in the message make the run fail in that way.
`ask` makes it ask for a form to be filled in; a request with the answer lets it go on.
"""

from streamweir_gateway.demo.server import serve_demos

__all__ = ["serve_demos"]
