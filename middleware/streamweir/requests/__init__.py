"""Requests: clients' bodies, read to one canonical form and written in the form that upstreams expect.

Source: the request contract.
"""
