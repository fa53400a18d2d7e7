"""Fixes: chosen, applied to text, repeated until nothing is left to do, and written whole or not at all."""
