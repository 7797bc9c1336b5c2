"""The page at `GET /`, if no endpoint is there: the endpoints, how to call them, and a panel to try one.

The page is one document: its script and its style are read from this folder and named in its
Content-Security-Policy by their hashes, so that nothing else runs and nothing is loaded from elsewhere.

The frames of an upstream are shown only if the upstream is a demo. The frames of any other upstream may hold
texts of failures, addresses and secrets that the gateway removes, so they never leave it.
"""

from streamweir_gateway.front_page.front_page import FrontPage, shows_index

__all__ = ["FrontPage", "shows_index"]
