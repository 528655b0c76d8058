"""Searching a name for a pattern, in time that a hostile pattern cannot blow up.

Every state is entered once per position (no backtracking over the same ground again), and a pattern has a budget of
steps. std::regex has neither: what would hang llama.cpp is refused here in a sentence.
"""

from __future__ import annotations

from ..errors import InputError
from .pattern_parse import WORD, Ahead, Assert, Chars, Either, Node, Repeat, Sequence, as_bytes, parse

MAX_STATES = 4000
MAX_STEPS = 10_000_000
"""Steps of one pattern, or of several that share a budget, over all the names they are asked about."""


class Budget:
    """Steps that patterns have taken so far."""

    def __init__(self) -> None:
        """None yet."""
        self.steps = 0


_CHARS, _SPLIT, _JUMP, _ASSERT, _AHEAD, _FOUND = range(6)


class Pattern:
    """A compiled pattern; `search` says whether a name contains a match, as std::regex_search does."""

    def __init__(self, text: str, budget: Budget | None = None) -> None:
        """Parse and compile; the steps count in `budget`.

        Raises:
            InputError: std::regex would refuse the pattern, or it is too large.
        """
        self.text = text
        self._code: list[tuple[int, object, int]] = []
        self._budget = budget or Budget()
        tree = parse(text)
        self._compile(tree)
        self._emit(_FOUND)
        self._prefix = _literal(tree)

    def search(self, name: str) -> bool:
        """Does the name contain a match?

        Raises:
            InputError: the pattern has used up its steps.
        """
        subject = as_bytes(name)
        visited: set[int] = set()
        start = 0
        while True:
            if self._prefix:
                start = subject.find(self._prefix, start)
                if start < 0:
                    return False
            if self._from(0, start, subject, visited):
                return True
            start += 1
            if start > len(subject):
                return False

    def _from(self, begin: int, at: int, subject: str, visited: set[int]) -> bool:
        """Is the end of the program at `begin` reachable from position `at`? `visited` holds dead ends only."""
        code, width, end, budget = self._code, len(self._code), len(subject), self._budget
        stack = [(begin, at)]
        while stack:
            state, pos = stack.pop()
            key = pos * width + state
            if key in visited:
                continue
            visited.add(key)
            budget.steps += 1
            if budget.steps > MAX_STEPS:
                raise InputError(f"pattern {self.text!r} takes too many steps; make it and those before it simpler")
            kind, what, other = code[state]
            if kind == _CHARS:
                if pos < end and subject[pos] in what:  # type: ignore[operator]
                    stack.append((state + 1, pos + 1))
            elif kind == _SPLIT:
                stack.append((other, pos))
                stack.append((state + 1, pos))
            elif kind == _JUMP:
                stack.append((other, pos))
            elif kind == _ASSERT:
                if _holds(str(what), subject, pos):
                    stack.append((state + 1, pos))
            elif kind == _AHEAD:
                if self._from(state + 1, pos, subject, set()) is not what:
                    stack.append((other, pos))
            else:
                return True
        return False

    def _emit(self, kind: int, what: object = None, other: int = 0) -> int:
        if len(self._code) >= MAX_STATES:
            raise InputError(f"pattern {self.text!r} is too large once its repetitions are written out")
        self._code.append((kind, what, other))
        return len(self._code) - 1

    def _patch(self, at: int) -> None:
        kind, what, _ = self._code[at]
        self._code[at] = (kind, what, len(self._code))

    def _compile(self, node: Node) -> None:
        if isinstance(node, Chars):
            self._emit(_CHARS, node.chars)
        elif isinstance(node, Assert):
            self._emit(_ASSERT, node.kind)
        elif isinstance(node, Sequence):
            for item in node.items:
                self._compile(item)
        elif isinstance(node, Either):
            ends = []
            for item in node.items[:-1]:
                split = self._emit(_SPLIT)
                self._compile(item)
                ends.append(self._emit(_JUMP))
                self._patch(split)
            self._compile(node.items[-1])
            for end in ends:
                self._patch(end)
        elif isinstance(node, Ahead):
            ahead = self._emit(_AHEAD, node.negative)
            self._compile(node.item)
            self._emit(_FOUND)
            self._patch(ahead)
        else:
            self._repeat(node)

    def _repeat(self, node: Repeat) -> None:
        for _ in range(node.least):
            before = len(self._code)
            self._compile(node.item)
            if len(self._code) == before:
                return  # nothing, however often
        if node.most is None:
            split = self._emit(_SPLIT)
            self._compile(node.item)
            self._emit(_JUMP, None, split)
            self._patch(split)
            return
        splits = []
        for _ in range(node.most - node.least):
            splits.append(self._emit(_SPLIT))
            self._compile(node.item)
        for split in splits:
            self._patch(split)


def compile_pattern(text: str, budget: Budget | None = None) -> Pattern:
    r"""The pattern, ready to search; several that are asked together share a budget of steps.

    >>> compile_pattern(r"blk\.\d+\.ffn_.*_exps").search("blk.12.ffn_up_exps.weight")
    True

    Raises:
        InputError: std::regex would refuse it, or it is too large.
    """
    return Pattern(text, budget)


def _holds(kind: str, subject: str, pos: int) -> bool:
    if kind == "^":
        return pos == 0
    if kind == "$":
        return pos == len(subject)
    before = pos > 0 and subject[pos - 1] in WORD
    after = pos < len(subject) and subject[pos] in WORD
    return (before != after) == (kind == "b")


def _literal(tree: Node) -> str:
    """Characters that every match starts with."""
    found = []
    for item in tree.items if isinstance(tree, Sequence) else (tree,):
        if not isinstance(item, Chars) or len(item.chars) != 1:
            break
        found.append(next(iter(item.chars)))
    return "".join(found)
