"""Requests of clients on their way to upstreams, if the gateway reads and rewrites them."""
