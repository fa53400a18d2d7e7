"""gclint inside other tools."""
