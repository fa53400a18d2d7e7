"""Broken, twisted and random programs through check and fix: nothing crashes, hangs or comes out broken."""
