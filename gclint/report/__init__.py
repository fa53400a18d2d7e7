"""Findings as text: for people, for programs, and for the services that show them."""
