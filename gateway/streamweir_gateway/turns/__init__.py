"""Keeps the turns of upstreams, finds them by calls or texts, and puts them into later requests."""
