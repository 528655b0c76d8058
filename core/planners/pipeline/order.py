"""Stage 1, the order of the steps: Kahn's queue or a depth-first walk instead of the order that ggml was given.

Another order means other lifetimes, hence another bound: where the larger gains of memory planning are (OLLA, 2022).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise

from ...errors import InputError
from ...op import VIEW_OPS, Op
from ...state import State

Before = Sequence[Sequence[int]]
"""By item: the items that must come before it."""


def kahn(before: Before, names: Sequence[str]) -> list[int]:
    """Breadth first (Kahn 1962): an item joins the queue when the last one before it is done, lower indices first.

    Raises:
        InputError: there is a cycle; the sentence shows it.

    >>> kahn([[], [0], [], [1, 2]], "abcd")
    [0, 2, 1, 3]
    """
    missing = [len(items) for items in before]
    after: list[list[int]] = [[] for _ in before]
    for item, items in enumerate(before):
        for earlier in items:
            after[earlier].append(item)
    queue = deque(item for item, count in enumerate(missing) if not count)
    done = []
    while queue:
        item = queue.popleft()
        done.append(item)
        for later in after[item]:
            missing[later] -= 1
            if not missing[later]:
                queue.append(later)
    if len(done) < len(before):
        raise _cycle(before, names)
    return done


def depth_first(before: Before, names: Sequence[str]) -> list[int]:
    """Depth first: each item that nothing waits for, in turn, right after all that it waits for.

    Raises:
        InputError: there is a cycle; the sentence shows it.

    >>> depth_first([[], [0], [], [1, 2]], "abcd")
    [0, 1, 2, 3]
    """
    waited_for = {item for items in before for item in items}
    opened, closed = bytearray(len(before)), bytearray(len(before))
    done: list[int] = []
    for last in range(len(before)):
        if last in waited_for:
            continue
        opened[last] = 1
        path = [(last, iter(before[last]))]
        while path:
            item, rest = path[-1]
            for earlier in rest:
                if not opened[earlier]:
                    opened[earlier] = 1
                    path.append((earlier, iter(before[earlier])))
                    break
                if not closed[earlier]:
                    raise _cycle(before, names)
            else:
                closed[item] = 1
                done.append(item)
                path.pop()
    if len(done) < len(before):
        raise _cycle(before, names)
    return done


def _cycle(before: Before, names: Sequence[str]) -> InputError:
    """The shortest way to say which items wait for each other; called only when there are some."""
    missing = [len(items) for items in before]
    after: list[list[int]] = [[] for _ in before]
    for item, items in enumerate(before):
        for earlier in items:
            after[earlier].append(item)
    ready = [item for item, count in enumerate(missing) if not count]
    while ready:
        for later in after[ready.pop()]:
            missing[later] -= 1
            if not missing[later]:
                ready.append(later)
    item = next(item for item, count in enumerate(missing) if count)
    path: list[int] = []
    while item not in path:  # every item that is left waits for one that is left
        path.append(item)
        item = next(earlier for earlier in before[item] if missing[earlier])
    circle = [*path[path.index(item) :], item]
    return InputError(
        f"the steps wait for each other in a circle: {' <- '.join(names[one] for one in circle)}; "
        "take one of these dependencies out"
    )


ORDERS: dict[str, Callable[[Before, Sequence[str]], list[int]] | None] = {
    "ggml": None,
    "kahn": kahn,
    "dfs": depth_first,
}
"""By name; None: as the allocation graph stands."""


def step_order(state: State, order: str) -> list[int]:
    """The steps of the allocation graph as indices of `state.alloc_nodes`, in the order in which they shall run.

    Splits keep their order, and the copies before each stay before it.

    Raises:
        InputError: no such order.
    """
    if order not in ORDERS:
        raise InputError(f"no order of steps is named {order!r}: take one of {', '.join(ORDERS)}")
    sort = ORDERS[order]
    if sort is None:
        return list(range(state.n_steps))
    before = dependencies(state)
    names = [state.names[node] for node, _ in state.alloc_nodes]
    done: list[int] = []
    borders = _borders(state)
    for start, end in pairwise(borders):
        inside = [[step - start for step in before[one] if step >= start] for one in range(start, end)]
        done += [start + step for step in sort(inside, names[start:end])]
    return done


def dependencies(state: State) -> list[list[int]]:
    """By step of the allocation graph: the steps that must come before it.

    Beside its sources these are what keeps memory right that is written more than once, as a KV cache is: a write waits
    for the readers before it, a reader for the write before it, even where no source says so.
    """
    step_of = {node: step for step, (node, _) in enumerate(state.alloc_nodes)}
    writer: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    before = []
    for step, (node, _) in enumerate(state.alloc_nodes):
        tensor = state.tensors[node]
        wanted: dict[int, None] = {}
        for source in state.src[node]:
            if source >= 0:
                if step_of.get(source, step) < step:
                    wanted[step_of[source]] = None
                base = owner_of(state, source)
                if base in writer:
                    wanted[writer[base]] = None
                readers.setdefault(base, []).append(step)
        base = owner_of(state, node)
        if node in state.dependencies:
            if step:
                wanted[step - 1] = None  # it keeps bytes until the node before it has run
        elif base != node and (tensor.op in VIEW_OPS or tensor.op is Op.NONE):
            if base in writer:
                wanted[writer[base]] = None
        else:
            wanted.update(dict.fromkeys(one for one in (writer.get(base, step), *readers.get(base, ()))))
            writer[base] = step
            readers[base] = []
        wanted.pop(step, None)
        before.append(list(wanted))
    return before


def owner_of(state: State, tensor: int) -> int:
    """The tensor whose bytes these are: the base of a view, else itself."""
    base = state.tensors[tensor].view_src
    return base if base >= 0 else tensor


def _borders(state: State) -> list[int]:
    """Steps where something new starts that may not mix with what was before: a split's copies, then its nodes."""
    step_of = {node: step for step, (node, _) in enumerate(state.alloc_nodes)}
    borders = {0, state.n_steps}
    for split in state.splits:
        if split.start < split.end and (start := step_of.get(state.nodes[split.start], -1)) >= 0:
            borders |= {start, start - 2 * len(split.inputs)}
    return sorted(borders)
