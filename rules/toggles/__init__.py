"""Rules of the family toggles."""
