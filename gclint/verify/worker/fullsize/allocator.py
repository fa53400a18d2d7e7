"""What CUDA's caching allocator holds for the tensors that live: whole segments, of which freed blocks are kept.

After c10/cuda/CUDACachingAllocator.cpp of torch 1.10 to 2.13 without `PYTORCH_CUDA_ALLOC_CONF`. `nvidia-smi` and
`torch.cuda.max_memory_reserved` show this, and no tensor needs it: before it gives up, the allocator lets go of
segments that hold nothing.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass

BLOCK = 512  # kMinBlockSize
SMALL, SMALL_SEGMENT = 1 << 20, 2 << 20  # kSmallSize, kSmallBuffer
STEPS = 3
LARGE_SEGMENT, LARGE, ROUND = 20 << 20, 10 << 20, 2 << 20  # kLargeBuffer, kMinLargeAlloc, kRoundLarge


@dataclass(eq=False)
class Block:
    """A part of a segment; its neighbours are those before and after it."""

    size: int
    number: int
    small: bool
    free: bool = True
    before: Block | None = None
    after: Block | None = None


class Allocator:
    """Gives out blocks as the allocator does, without any memory; `reserved` is what it holds."""

    def __init__(self) -> None:
        self.reserved = 0
        self._numbers = 0
        self._free: dict[bool, list[tuple[int, int, Block]]] = {True: [], False: []}

    def take(self, size: int) -> Block:
        """A block for so many bytes: the smallest free one that is large enough, else one of a new segment."""
        size = max(-(-size // BLOCK) * BLOCK, BLOCK)
        small = size <= SMALL
        pool = self._free[small]
        at = bisect_left(pool, size, key=lambda each: each[0])
        block = pool.pop(at)[2] if at < len(pool) else self._segment(size, small)
        block.free = False
        left = block.size - size
        if left >= BLOCK if small else left > SMALL:
            rest = self._block(left, small)
            rest.before, rest.after, block.after = block, block.after, rest
            if rest.after is not None:
                rest.after.before = rest
            block.size = size
            self._keep(rest)
        return block

    def give_back(self, block: Block) -> None:
        """Take a block back, as one with free neighbours."""
        block.free = True
        for other in (block.before, block.after):
            if other is not None and other.free:
                pool = self._free[block.small]
                del pool[bisect_left(pool, (other.size, other.number), key=lambda each: each[:2])]
                block = _joined(*((other, block) if other is block.before else (block, other)))
        self._keep(block)

    def _segment(self, size: int, small: bool) -> Block:
        whole = SMALL_SEGMENT if small else LARGE_SEGMENT if size < LARGE else -(-size // ROUND) * ROUND
        self.reserved += whole
        return self._block(whole, small)

    def _block(self, size: int, small: bool) -> Block:
        self._numbers += 1
        return Block(size, self._numbers, small)

    def _keep(self, block: Block) -> None:
        insort(self._free[block.small], (block.size, block.number, block), key=lambda each: each[:2])


def _joined(first: Block, second: Block) -> Block:
    """Two neighbours as one."""
    first.size += second.size
    first.after = second.after
    if first.after is not None:
        first.after.before = first
    return first


def reserved(standing: Sequence[int], states: Sequence[int], step: Sequence[tuple[int, int]], stepped: int) -> int:
    """What the allocator holds after some steps, in bytes.

    `standing` are the sizes of what lives all the time, `states` those of what the first step makes and keeps, right
    before the `stepped`th event of a `step`: a block's number and its size where it is made, the number and 0 where it
    ends. What a step leaves behind ends before the next one.
    """
    allocator = Allocator()
    for size in standing:
        allocator.take(size)
    for turn in range(STEPS):
        held: dict[int, Block] = {}
        for at, (number, size) in enumerate(step):
            if not turn and at == stepped:
                for each in states:
                    allocator.take(each)
            if size:
                held[number] = allocator.take(size)
            elif number in held:
                allocator.give_back(held.pop(number))
        for block in held.values():
            allocator.give_back(block)
    return allocator.reserved
