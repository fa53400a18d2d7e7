"""A training program run small, looked at while it runs, and asked what no error message says."""
