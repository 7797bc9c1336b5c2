"""Streams of an application that survive their connection; imported only if `resume` is given."""
