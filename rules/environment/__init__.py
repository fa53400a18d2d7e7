"""Rules of the family environment."""
