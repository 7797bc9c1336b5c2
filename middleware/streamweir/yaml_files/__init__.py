"""YAML files, read with the place of every key and value; needs the extra `yaml`.

    text -> tree (plain values) and a report that knows where each of them is in the file

Begin with `tree.py`.
"""
