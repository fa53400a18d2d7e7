"""Rules of the family placement."""
