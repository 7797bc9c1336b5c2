"""Requests of clients on their way to upstreams, where they do not go through as they came."""
