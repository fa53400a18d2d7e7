"""What CUDA's caching allocator holds, by its own rules (c10/cuda/CUDACachingAllocator.cpp)."""

from __future__ import annotations

import pytest

from gclint.verify.worker.fullsize.allocator import Allocator, reserved

MIB = 1 << 20


def held(*sizes: int) -> int:
    """What is held, in MiB, after blocks of these sizes were taken."""
    allocator = Allocator()
    for size in sizes:
        allocator.take(size)
    return allocator.reserved // MIB


@pytest.mark.parametrize(
    ("sizes", "mib"),
    [
        ([1], 2),
        ([MIB, MIB], 2),
        ([MIB, MIB, 1], 4),
        ([MIB + 1], 20),
        ([5 * MIB] * 4, 20),
        ([5 * MIB] * 5, 40),
        ([10 * MIB], 10),
        ([30 * MIB + 1], 32),
        ([int(19.5 * MIB), MIB // 2 + MIB], 40),
    ],
)
def test_segments(sizes: list[int], mib: int) -> None:
    assert held(*sizes) == mib


def test_a_model_whose_memory_was_published() -> None:
    """A convolution to 8 channels and a layer from 98,568 to 10: 3.8 MiB allocated, 22.0 MiB reserved
    (github.com/WSShiro/vramexp/blob/12ad23ccd800/vramexp1.ipynb).
    """
    assert held(8 * 27 * 4, 8 * 4, 10 * 98568 * 4, 10 * 4) == 22


def test_freed_neighbours_are_one_block() -> None:
    allocator = Allocator()
    first, second, _ = (allocator.take(6 * MIB) for _ in range(3))
    allocator.give_back(first)
    allocator.give_back(second)
    allocator.take(12 * MIB)
    assert allocator.reserved == 20 * MIB
    allocator.take(12 * MIB)
    assert allocator.reserved == 32 * MIB


def test_the_smallest_block_that_is_large_enough() -> None:
    allocator = Allocator()
    large, small = allocator.take(64 * MIB), allocator.take(32 * MIB)
    allocator.give_back(large)
    allocator.give_back(small)
    allocator.take(30 * MIB)
    allocator.take(64 * MIB)
    assert allocator.reserved == 96 * MIB


def test_states_that_the_first_step_leaves_in_holes_cost_the_next_one_as_much() -> None:
    step = [(0, 64 * MIB), (1, 64 * MIB), (0, 0), (1, 0), (2, MIB), (2, 0)]
    assert reserved([10 * MIB], [], step, 4) == (10 + 64 + 64 + 2) * MIB
    assert reserved([10 * MIB], [40 * MIB], step, 4) == (10 + 64 + 64 + 64 + 2) * MIB
