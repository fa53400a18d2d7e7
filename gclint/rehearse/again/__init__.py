"""Questions that take another run of the program."""
