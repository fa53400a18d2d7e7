"""The analysis: programs walked as the runs they start, and the rules asked at every moment."""
