"""Turns of upstreams: kept when they end, found by the calls or the text that a client sends, put back."""
