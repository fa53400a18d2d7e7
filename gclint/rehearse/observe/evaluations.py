"""Which functions of the user's evaluate: in them the trained model is asked in evaluation mode, and nothing learns."""

from __future__ import annotations

from gclint.rehearse.observe.places import Places

Function = tuple[str, str, int]
PART_OF_A_MODEL = ("forward", "__call__", "<module>", "<lambda>")


class Evaluations:
    """Notes on whose behalf a model is evaluated and trained."""

    def __init__(self, places: Places):
        self._places = places
        self._evaluating: dict[Function, None] = {}
        self._training: set[Function] = set()

    def evaluated(self) -> None:
        """A model that learns has been called in evaluation mode, without gradients."""
        self._evaluating.update(dict.fromkeys(self._functions()))

    def trained(self) -> None:
        """A gradient was computed, or a step taken."""
        self._training.update(self._functions())

    def told(self) -> list[Function]:
        """File, name and first line of each function that evaluates and does not train, the outermost last."""
        return [each for each in self._evaluating if each not in self._training and each[1] not in PART_OF_A_MODEL]

    def _functions(self) -> list[Function]:
        codes = [frame.f_code for frame in self._places.frames()]
        return [(self._places.own(each.co_filename) or "", each.co_name, each.co_firstlineno) for each in codes]
