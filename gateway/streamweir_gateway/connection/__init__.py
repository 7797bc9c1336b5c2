"""Serves the connections of clients: HTTP/1.1 on the server's side, with its limits."""
