"""Processes that serve: workers, sockets, signals, a changed configuration."""
