"""The kinds of values in a configuration file: how each kind is read, and its JSON Schema."""
