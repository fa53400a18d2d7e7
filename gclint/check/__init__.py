"""A check: what is asked, which programs are walked, what is kept of it, and what is reported."""
