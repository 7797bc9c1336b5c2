"""Decides how failures reach clients of the upstream's own dialect: as a status, an error frame or a
broken body.
"""
