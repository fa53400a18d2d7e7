"""Rules of the family versions."""
