"""The suite held against changed cores: small mutations of the analysis, each of which a fast test has to notice.

`operators` says what is changed, `mutants` finds the places and draws a seeded sample of them, `trial` runs the tests
against one mutant. Mutants that change no behaviour are listed in `equivalent.yaml`, each with the reason.
"""
