"""The kinds of values that a file may hold: how each is read, and its JSON Schema."""
