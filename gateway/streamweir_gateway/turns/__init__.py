"""Keeps the turns of upstreams, finds them by the calls or texts of clients, and puts them into requests."""
