"""Rules of the family regions."""
