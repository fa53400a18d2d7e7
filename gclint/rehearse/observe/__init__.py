"""The looking: hooks in the process that trains, each of which writes what happens to that rank's record."""
