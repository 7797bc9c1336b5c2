"""The processes that serve: workers, sockets, signals, reloads of the configuration."""
