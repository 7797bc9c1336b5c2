"""Requests of clients on their way to upstreams, where they are not sent byte for byte."""
