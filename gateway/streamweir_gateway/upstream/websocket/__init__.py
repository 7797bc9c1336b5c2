"""Upstreams that speak over a WebSocket: one connection for each stream."""
