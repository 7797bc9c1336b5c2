"""Requests to upstreams: connections, transports, and why one gave no answer. `client` is the way in."""
