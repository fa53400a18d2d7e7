"""The analysis: programs walked as the runs they start, and the rules asked at every moment."""

from .program import Analysis, Problem, analyse

__all__ = ["Analysis", "Problem", "analyse"]
