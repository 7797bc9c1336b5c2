"""Streams of an application that survive their connection: loaded only where `resume` is given."""
