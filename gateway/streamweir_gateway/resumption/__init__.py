"""Streams that continue after their connection has ended: starts, stores, reads and stops them."""
