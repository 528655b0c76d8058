"""Rows of the rule tables: an op, and what the device should say about it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from galloscope.core.devices.known import DEVICES, device
from galloscope.core.devices.profile import anything
from galloscope.core.devices.seen import Seen, see
from galloscope.core.llama.options import DeviceSpec
from galloscope.core.op import Op


@dataclass(frozen=True)
class Row:
    """`words` are in the reason; "" when the op is accepted. `limits` override the device's."""

    words: str
    op: Seen
    limits: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.op.op}: {self.words or 'accepted'}"


def x(*ne: int, dtype: str = "f32") -> Seen:
    """A contiguous source."""
    return see(Op.NONE, dtype, ne or (64, 4))


def loose(*ne: int, dtype: str = "f32") -> Seen:
    """A source whose elements lie two apart: neither it nor its rows are contiguous."""
    like = x(*ne, dtype=dtype)
    return see(Op.NONE, dtype, like.ne, nb=[2 * step for step in like.nb])


def gappy(*ne: int, dtype: str = "f32") -> Seen:
    """A source whose rows lie two apart: its rows are contiguous, it is not."""
    like = x(*ne, dtype=dtype)
    return see(Op.NONE, dtype, like.ne, nb=[like.nb[0], *(2 * step for step in like.nb[1:])])


def turned(*ne: int, dtype: str = "f32") -> Seen:
    """A transposed source of that shape after the transposition."""
    before = x(ne[1], ne[0], *ne[2:], dtype=dtype)
    b0, b1, b2, b3 = before.nb
    return see(Op.NONE, dtype, ne, nb=(b1, b0, b2, b3))


def ok(op: Op, *src: Seen | None, result: Seen | None = None, params: Iterable[int] = (), **limits: int) -> Row:
    """The op is accepted; its result is like the first source unless given."""
    return Row("", _seen(op, src, result, params), limits)


def no(
    words: str, op: Op, *src: Seen | None, result: Seen | None = None, params: Iterable[int] = (), **limits: int
) -> Row:
    """The op is refused with these words in the reason."""
    return Row(words, _seen(op, src, result, params), limits)


def _seen(op: Op, src: tuple[Seen | None, ...], result: Seen | None, params: Iterable[int]) -> Seen:
    like = result or src[0]
    assert like is not None
    return see(op, like.type, like.ne, *src, nb=like.nb, params=tuple(params))


def check(name: str, row: Row) -> None:
    """The device says what the row says, in one sentence that names the op."""
    reason = device(DeviceSpec(name, None, dict(row.limits))).supports(row.op)
    if not row.words:
        assert reason == ""
        return
    assert row.words in reason
    assert reason.startswith(row.op.op.value)
    assert "\n" not in reason
    assert not reason.endswith(".")


def one_sided(name: str, rows: Iterable[Row]) -> dict[str, str]:
    """The ops that the device rules on without an accepted or without a refused row."""
    sides: dict[Op, set[bool]] = {}
    for row in rows:
        sides.setdefault(row.op.op, set()).add(bool(row.words))
    missing = {}
    for op, rule in DEVICES[name].rules.items():
        wanted = {False} if rule is anything else {False, True}
        if wanted - sides.get(op, set()):
            missing[op.value] = "accepted" if False not in sides.get(op, set()) else "refused"
    return missing
