"""Decides how failures reach clients of the upstream's own dialect: status, error frame or broken body."""
