"""What stays alive from step to step, and how often the program waits for the device."""

from __future__ import annotations

import gc
import inspect
import re
from collections import Counter
from types import FrameType
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from gclint.rehearse.observe.graph import node_of
from gclint.rehearse.observe.watch import Watch

MOST_NODES, LOOKED_AT = 20000, 12
WAITING = ("item", "tolist")


class LiveMemory:
    """Counts graph nodes that live tensors hold after each step, and waits for the device in user lines."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self.waits: Counter[tuple[str, int, str]] = Counter()
        self._hook: Any = None
        self._looked = 0

    def prepare(self) -> None:
        """Start looking after steps."""
        self._hook = register_optimizer_step_post_hook(self.watch.patches.hook(self._look))

    def install(self) -> None:
        """Start watching."""
        for name in WAITING:
            self.watch.patches.around(torch.Tensor, name, self._waiting(name))

    def remove(self) -> None:
        """Stop looking after steps."""
        self._hook.remove()

    def _waiting(self, name: str) -> Any:
        def waiting(original: Any, *args: Any, **kwargs: Any) -> Any:
            place = self.watch.places.directly() if self.watch.step else None
            if place is not None:
                self.waits[place[0], place[1], name] += 1
            return original(*args, **kwargs)

        return waiting

    def _look(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._looked >= LOOKED_AT or self.watch.stepping:
            return
        self._looked += 1
        holders = [each for each in gc.get_objects() if type(each) is torch.Tensor and node_of(each) is not None]
        nodes, largest = _reachable(holders)
        count = sum(type(each) is torch.Tensor for each in holders)
        self.watch.write(
            "graph",
            None,
            nodes=nodes,
            tensors=count,
            holder=self._holder() if self._looked % 4 == 0 else None,
            largest=largest,
        )

    def _holder(self) -> dict[str, Any] | None:
        """The variable of the user's that holds the most of a graph."""
        best: tuple[int, dict[str, Any] | None] = (1, None)
        for frame in self.watch.places.frames():
            file = self.watch.places.own(frame.f_code.co_filename)
            for name, value in {**frame.f_locals}.items():
                for attribute, held in [("", value), *_attributes(value)]:
                    size = _graph_of(held)
                    if size > best[0]:
                        best = (
                            size,
                            {
                                "name": attribute or name,
                                "file": file,
                                "function": frame.f_code.co_name,
                                "first": _line_that_keeps(frame, attribute or name),
                                "size": size,
                            },
                        )
        return best[1]


def _line_that_keeps(frame: FrameType, name: str) -> int:
    """The line of a frame's code that adds to a variable or attribute, else its first line."""
    lines, first = inspect.findsource(frame.f_code)[0], frame.f_code.co_firstlineno
    adds = re.compile(
        rf"\b{re.escape(name)}\s*(\+=|=\s*.*\b{re.escape(name)}\b|\.(append|extend|appendleft|update)\(|\[.*\]\s*=)"
    )
    last = max((line for _, _, line in frame.f_code.co_lines() if line), default=first)
    return next((number for number in range(first, last + 1) if adds.search(lines[number - 1])), first)


def _attributes(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, torch.nn.Module) or not hasattr(value, "__dict__") or isinstance(value, type):
        return []
    own = vars(value) if type(value).__module__ == "__main__" else {}
    return [(name, each) for name, each in list(own.items())[:50]]


def _graph_of(value: Any) -> int:
    """How many graph nodes a variable holds: a tensor's, or those of the tensors in a list or dict."""
    if type(value) is torch.Tensor:
        return _reachable([value])[0] if node_of(value) is not None else 0
    items = list(value.values())[:2000] if isinstance(value, dict) else value
    if isinstance(items, (list, tuple)) or type(items).__name__ == "deque":
        held = [each for each in list(items)[:2000] if type(each) is torch.Tensor and node_of(each) is not None]
        return _reachable(held)[0] + len(held) if held else 0
    return 0


def _reachable(tensors: list[Any]) -> tuple[int, int]:
    """How many graph nodes tensors hold together, and the largest number that one added."""
    seen: set[Any] = set()
    largest = 0
    for tensor in tensors:
        before, waiting = len(seen), [node_of(tensor)]
        while waiting and len(seen) < MOST_NODES:
            node = waiting.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            waiting += [each for each, _ in node.next_functions]
        largest = max(largest, len(seen) - before)
    return len(seen), largest
