"""Rules of the family precision."""
