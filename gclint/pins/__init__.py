"""Requirement pins: what the files around a program say about the versions it will run with.

One module per kind of file; each gives a `FilePins`. `near` finds the files, the nearest to a program first.
"""
