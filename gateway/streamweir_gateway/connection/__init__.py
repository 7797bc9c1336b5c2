"""One client's connection: HTTP/1.1 as the server speaks it, with its limits."""
