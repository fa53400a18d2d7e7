"""What of the user's evaluates: there the trained model is asked in evaluation mode, and nothing learns."""

from __future__ import annotations

from gclint.rehearse.observe.places import Places

Function = tuple[str, str, int]
PART_OF_A_MODEL = ("forward", "__call__", "<lambda>")
MODULE = "<module>"


class Evaluations:
    """Notes on whose behalf a model is evaluated and trained."""

    def __init__(self, places: Places):
        self._places = places
        self._evaluating: dict[Function, int] = {}
        self._training: dict[Function, dict[int, None]] = {}

    def evaluated(self) -> None:
        """A model that learns has been called in evaluation mode, without gradients."""
        for function, line in self._stack():
            self._evaluating.setdefault(function, line)

    def trained(self) -> None:
        """A gradient was computed, or a step taken."""
        for function, line in self._stack():
            self._training.setdefault(function, {})[line] = None

    def told(self) -> list[tuple[str, str, int, int, list[int]]]:
        """File, name and first line of each function that evaluates and does not train, the outermost last. Where there
        is none, of the innermost that does both, with the line that evaluates and those that train; line 0 otherwise.
        """
        named = [each for each in self._evaluating if each[1] not in PART_OF_A_MODEL]
        apart = [each for each in named if each not in self._training and each[1] != MODULE]
        if apart:
            return [(*each, 0, []) for each in apart]
        both = [(*each, self._evaluating[each], list(self._training[each])) for each in named if each in self._training]
        return both[:1]

    def _stack(self) -> list[tuple[Function, int]]:
        return [
            (
                (self._places.own(each.f_code.co_filename) or "", each.f_code.co_name, each.f_code.co_firstlineno),
                each.f_lineno,
            )
            for each in self._places.frames()
        ]
