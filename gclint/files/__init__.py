"""Files as gclint sees them: found, read, decoded, gated, cached; notebooks as one module."""
