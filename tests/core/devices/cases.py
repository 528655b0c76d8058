"""Ops from plain values with the sentence word for word, as the tests of CUDA and CPU write them."""

from collections.abc import Mapping, Sequence

from galloscope.core.devices.known import DEVICES
from galloscope.core.devices.profile import Profile, anything
from galloscope.core.devices.seen import Seen, see
from galloscope.core.op import GLU_OPS, UNARY_OPS, Op
from galloscope.tests.core.devices.rows import Row, gappy, loose, one_sided

Case = tuple[Seen, str]
"""An op, and the sentence with which it is refused, "" when it is supported."""


def t(dtype: str, *ne: int, nb: Sequence[int] | None = None, **known: str) -> Seen:
    """A tensor that is there already."""
    return see(Op.NONE, dtype, ne or (64, 32), nb=nb, buft=known.get("buft", ""), maker=known.get("maker", ""))


def gaps(dtype: str, *ne: int) -> Seen:
    """Its rows have room behind them."""
    return gappy(*(ne or (64, 32)), dtype=dtype)


def apart(dtype: str, *ne: int) -> Seen:
    """The elements of its rows are not neighbours."""
    return loose(*(ne or (64, 32)), dtype=dtype)


def op(kind: Op, *src: Seen | None, dtype: str = "f32", ne: Sequence[int] | None = None, **known: object) -> Seen:
    """The op over these sources; its shape is that of the first unless given."""
    params = known.get("params", ())
    nb = known.get("nb")
    assert isinstance(params, Sequence)
    assert nb is None or isinstance(nb, Sequence)
    first = next(filter(None, src), None)
    shape = ne if ne is not None else first.ne if first is not None else (64,)
    return see(kind, dtype, shape, *src, params=params, nb=nb)


def unary(kind: str, source: Seen) -> Seen:
    """An op UNARY of that kind."""
    return op(Op.UNARY, source, params=[UNARY_OPS.index(kind)], dtype=source.type)


def glu(kind: str, source: Seen) -> Seen:
    """An op GLU of that kind."""
    return op(Op.GLU, source, params=[GLU_OPS.index(kind)], dtype=source.type)


def mul_mat(a: Seen, b: Seen, *params: int) -> Seen:
    """Rows of a times rows of b."""
    return op(Op.MUL_MAT, a, b, ne=(a.ne[1], b.ne[1], b.ne[2], b.ne[3]), params=params)


def attention(
    head: int = 128,
    k: str = "f16",
    v: str = "",
    *,
    v_head: int = 0,
    heads: int = 32,
    kv_heads: int = 8,
    n: int = 512,
    cells: int = 1024,
    mask: Seen | str | None = "",
    max_bias: float = 0.0,
) -> Seen:
    """FLASH_ATTN_EXT with everything as a usual model has it."""
    width = v_head or head
    q = t("f32", head, n, heads)
    keys, values = t(k, head, cells, kv_heads), t(v or k, width, cells, kv_heads)
    masked = t("f16", cells, n) if isinstance(mask, str) else mask
    return op(Op.FLASH_ATTN_EXT, q, keys, values, masked, ne=(width, heads, n), params=[1.0, max_bias, 0.0])


def check(profile: Profile, case: Case) -> None:
    """The profile answers the case word for word, and so again."""
    seen, wanted = case
    assert profile.supports(seen) == wanted
    assert profile.supports(seen) == wanted


def unshown(name: str, cases: Mapping[str, Case]) -> dict[str, str]:
    """Ops that the profile rules on whose accepted or refused side no case shows; what is always
    supported needs no case."""
    missing = one_sided(name, [Row(wanted, seen) for seen, wanted in cases.values()])
    rules = DEVICES[name].rules
    return {op: side for op, side in missing.items() if rules[Op(op)] is not anything}
