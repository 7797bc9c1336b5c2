"""The page at `GET /`, if no endpoint has this path: lists the endpoints, with calls and a panel for trials.

The page is a single document. It contains its script and its style, which are read from this folder. Its
Content-Security-Policy allows only these, by their hashes, and no loading from other places.

The frames of an upstream are shown only if the upstream is a demo. Frames of other upstreams may contain
texts of failures, addresses and secrets that the gateway removes, so they never leave the gateway.
"""

from streamweir_gateway.front_page.front_page import FrontPage, shows_index

__all__ = ["FrontPage", "shows_index"]
