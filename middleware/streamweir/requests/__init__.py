"""Requests: bodies of clients are read to one canonical form, which is written for upstreams.

Source: the request contract.
"""
