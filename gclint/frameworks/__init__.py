"""What library calls do to a run, one module per library."""
