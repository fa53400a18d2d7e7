"""The same findings, whatever gclint leaves out to be fast and in whatever order Python hashes."""
