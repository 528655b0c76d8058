"""Conditions that the rules of all devices share, each with its sentence: "" when it holds, else what is wrong.

Slots are those of the sources; `RESULT` is the op itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..op import GLU_OPS, UNARY_OPS, Op
from ..text import shape_text
from .profile import Profile
from .seen import Seen

RESULT = -1
"""The slot number of the result itself, beside the source slots 0, 1, ..."""

FLOATS = ("f32", "f16")


def op_name(op: Seen) -> str:
    """The op for a sentence, a unary or gated one with its kind.

    >>> from .seen import see
    >>> op_name(see(Op.UNARY, "f32", (4,), params=[10]))
    'UNARY SILU'
    """
    kinds = {Op.UNARY: UNARY_OPS, Op.GLU: GLU_OPS}.get(op.op)
    if kinds is None:
        return op.op.value
    kind = op.param(0)
    return f"{op.op} {kinds[kind] if 0 <= kind < len(kinds) else f'number {kind}'}"


def part(op: Seen, slot: int) -> Seen:
    """The source in a slot, or the op's own result for `RESULT`.

    Raises:
        MissingSource: the slot is empty.
    """
    return op if slot == RESULT else op.need(slot)


def called(slot: int) -> str:
    """What a slot is called in a sentence."""
    return "the result" if slot == RESULT else f"source {slot}"


def either(words: Sequence[object]) -> str:
    """Alternatives in words.

    >>> either(["f32"]), either(["f32", "f16"]), either([16, 32, 64])
    ('f32', 'f32 or f16', '16, 32 or 64')
    """
    texts = [str(word) for word in words]
    return " or ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def typed(op: Seen, slot: int, *types: str) -> str:
    """The element type is one of these."""
    found = part(op, slot).type
    if found in types:
        return ""
    if len(types) > 6:
        return f"{op_name(op)}: there is no kernel for {called(slot)} of type {found}"
    return f"{op_name(op)}: {called(slot)} is {found}, not {either(types)}"


def all_f32(op: Seen, *slots: int) -> str:
    """The element type of all is f32."""
    return next(filter(None, (typed(op, slot, "f32") for slot in slots)), "")


def not_typed(op: Seen, slot: int, *types: str) -> str:
    """The element type is none of these."""
    found = part(op, slot).type
    return f"{op_name(op)}: there is no kernel for {called(slot)} of type {found}" if found in types else ""


def one_type(op: Seen, *slots: int) -> str:
    """All have the same element type."""
    types = [part(op, slot).type for slot in slots]
    if len(set(types)) == 1:
        return ""
    each = ", ".join(f"{called(slot)} is {found}" for slot, found in zip(slots, types, strict=True))
    return f"{op_name(op)}: {each}, and the types must be equal"


def converts(op: Seen, table: Mapping[str, Sequence[str]], source: str, result: str) -> str:
    """The table has a kernel from the one type to the other."""
    return "" if result in table.get(source, ()) else f"{op_name(op)}: there is no kernel from {source} to {result}"


def laid_out(op: Seen, test: Callable[[Seen], bool], wanted: str, *slots: int) -> str:
    """All pass a predicate about their strides; `wanted` says it in words."""
    for slot in slots:
        one = part(op, slot)
        if not test(one):
            strides = ", ".join(map(str, one.nb))
            return f"{op_name(op)}: {called(slot)} is not {wanted} ({one.type} {shape_text(one.ne)}, strides {strides})"
    return ""


def packed(op: Seen, *slots: int) -> str:
    """All are contiguous (ggml_is_contiguous)."""
    return laid_out(op, Seen.is_contiguous, "contiguous", *slots)


def packed_rows(op: Seen, *slots: int) -> str:
    """The elements of each row follow each other (ggml_is_contiguous_rows)."""
    return laid_out(op, Seen.is_contiguous_rows, "contiguous in its rows", *slots)


def shaped_alike(op: Seen, a: int, b: int) -> str:
    """Both have the same dimensions (ggml_are_same_shape)."""
    one, other = part(op, a), part(op, b)
    if one.same_shape(other):
        return ""
    shapes = f"{called(a)} is {shape_text(one.ne)}, {called(b)} is {shape_text(other.ne)}"
    return f"{op_name(op)}: {shapes}, and the shapes must be equal"


def sized(op: Seen, what: str, value: int, *allowed: int) -> str:
    """A dimension or parameter is one of these."""
    return "" if value in allowed else f"{op_name(op)}: {what} is {value}, not {either(allowed)}"


def known(op: Seen, kinds: Sequence[str]) -> str:
    """The unary or gated function that the first parameter names (by number) is one of these."""
    return "" if 0 <= op.param(0) < len(kinds) else f"{op_name(op)}: there is no kernel for this function"


def able(op: Seen, device: Profile, limit: str) -> str:
    """The device has an ability that one of its own limits names with 1 or 0."""
    return "" if device.named[limit] else f"{op_name(op)}: needs {device.units[limit]}, and {limit} is 0"
