"""Rules of the family forwards."""
