"""Rules of the family adapters."""
