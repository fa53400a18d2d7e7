"""The analysis: programs walked as the runs they start, and the rules asked at every moment."""

from ..failures import Problem
from .program import Analysis, analyse

__all__ = ["Analysis", "Problem", "analyse"]
