"""Rules of the family costs."""
