"""Serves a whole service behind one path: responses other than agent streams are sent byte for byte."""
