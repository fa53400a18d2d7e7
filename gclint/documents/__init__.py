"""Configuration documents as text: where a value is written, how another is written there, and the proof of it."""
