"""Upstreams that speak over a WebSocket. Each stream has a connection for itself."""
