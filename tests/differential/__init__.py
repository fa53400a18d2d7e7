"""The analysis held against CPython: random small programs, each run on all of its inputs and derived once.

`grammar` writes programs of everyday statements around calls of `checkpoint`; two inputs decide what is reached and
with which `use_reentrant`. `executed` runs one with recording stand-ins, `derived` analyses it, `compared` holds the
two against each other: what happened must be derived under a condition that the inputs meet, and nothing else may be.
"""

from . import everyday, expressions, statements  # noqa: F401  (they register what programs are made of)
