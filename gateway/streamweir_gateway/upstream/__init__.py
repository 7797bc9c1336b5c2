"""Sends requests to upstreams: connections, transports, and failures. Begin with `client`."""
