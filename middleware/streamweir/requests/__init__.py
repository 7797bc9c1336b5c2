"""Requests: the clients' bodies, read to one canonical form, and written as upstreams expect it.

Source: the request contract.
"""
