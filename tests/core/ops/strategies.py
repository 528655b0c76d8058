"""Questions to constructors: mostly arguments that fit, sometimes one that does not."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from galloscope.core.dtypes import DTYPES
from galloscope.core.op import GLU_OPS, UNARY_OPS
from galloscope.tests.core.ops.real_ops import Step

Draw = Callable[[st.SearchStrategy[Any]], Any]

F32, F16, I32, I64, Q8, BF16 = (DTYPES[name].id for name in ("f32", "f16", "i32", "i64", "q8_0", "bf16"))
DIMS = st.sampled_from((1, 1, 2, 3, 4, 6, 8))
ROW = st.sampled_from((1, 2, 3, 8, 32, 64, 96))
FLOATS = st.sampled_from((0.0, 1.0, -0.5, 1e-5, 0.1, 3.25, 1e6)) | st.floats(width=32, allow_nan=False)
TYPES = st.sampled_from((F32, F32, F16, I32, Q8, BF16))
NAMES = st.sampled_from(("", "a", "cache_k_l0", "x" * 40, "y" * 63, "e\u00e9" * 20))


class Maker:
    """Steps in the making."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.steps: list[Step] = []

    def add(self, function: str, *arguments: Any) -> int:
        self.steps.append([function, list(arguments)])
        return len(self.steps) - 1

    def tensor(self, dtype: int, *ne: int) -> int:
        """A leaf, now and then with a wrong size or type, perhaps named and perhaps seen in another order."""
        sizes = [*ne, 1, 1, 1][:4]
        if self.draw(st.integers(0, 9)) == 0:
            sizes[self.draw(st.integers(0, 3))] = self.draw(st.sampled_from((1, 2, 5, 32)))
        if self.draw(st.integers(0, 14)) == 0:
            dtype = self.draw(TYPES)
        if sizes[0] % (32 if dtype == Q8 else 1):
            dtype = F32
        change = self.draw(st.integers(0, 9))
        if change == 0 and dtype != Q8:  # the same shape, not contiguous
            leaf = self.add("new_tensor_4d", dtype, sizes[1], sizes[0], *sizes[2:])
            return self.add("transpose", leaf)
        if change == 1:
            leaf = self.add("new_tensor_4d", dtype, sizes[0], sizes[2], sizes[1], sizes[3])
            return self.add("permute", leaf, 0, 2, 1, 3)
        leaf = self.add("new_tensor_4d", dtype, *sizes)
        name = self.draw(NAMES)
        return self.add("set_name", leaf, name) if name else leaf

    def sizes(self) -> tuple[int, int, int, int]:
        return self.draw(ROW), self.draw(DIMS), self.draw(DIMS), self.draw(DIMS)


def _elementwise(m: Maker, function: str) -> None:
    ne = m.sizes()
    small = [n if m.draw(st.booleans()) else 1 for n in ne]
    m.add(function, m.tensor(F32, *ne), m.tensor(F32, *small))


def _one(m: Maker, function: str, *more: st.SearchStrategy[Any], dtype: int | None = None) -> None:
    a = m.tensor(m.draw(TYPES) if dtype is None else dtype, *m.sizes())
    m.add(function, a, *(m.draw(one) for one in more))


def _add_id(m: Maker, function: str) -> None:
    n, used, tokens, experts = m.draw(ROW), m.draw(DIMS), m.draw(DIMS), m.draw(DIMS)
    m.add(function, m.tensor(F32, n, used, tokens), m.tensor(F32, n, experts), m.tensor(I32, used, tokens))


def _mul_mat(m: Maker, function: str) -> None:
    k, n, tokens, b2, b3 = m.draw(ROW), m.draw(DIMS), m.draw(DIMS), m.draw(DIMS), m.draw(DIMS)
    r2, r3 = m.draw(DIMS), m.draw(DIMS)
    m.add(function, m.tensor(m.draw(TYPES), k, n, b2, b3), m.tensor(F32, k, tokens, b2 * r2, b3 * r3))
    if function == "mul_mat":
        m.add("prec_set_acc", len(m.steps) - 1, 10)
        m.add("mul_mat_set_hint", len(m.steps) - 1, 1)


def _out_prod(m: Maker, function: str) -> None:
    n, b2, b3 = m.draw(DIMS), m.draw(DIMS), m.draw(DIMS)
    m.add(function, m.tensor(F32, m.draw(ROW), n, b2, b3), m.tensor(F32, m.draw(ROW), n, b2 * m.draw(DIMS), b3))


def _mul_mat_id(m: Maker, function: str) -> None:
    k, n, experts, used, tokens = m.draw(ROW), m.draw(DIMS), m.draw(DIMS), m.draw(DIMS), m.draw(DIMS)
    b = m.tensor(F32, k, m.draw(st.sampled_from((1, used))), tokens)
    m.add(function, m.tensor(m.draw(TYPES), k, n, experts), b, m.tensor(I32, used, tokens))


def _get_rows(m: Maker, function: str) -> None:
    ne = m.sizes()
    m.add(function, m.tensor(m.draw(TYPES), *ne), m.tensor(I32, m.draw(DIMS), ne[2], ne[3]))


def _set_rows(m: Maker, function: str) -> None:
    n, cells, rows, b2, b3 = m.draw(ROW), m.draw(DIMS), m.draw(DIMS), m.draw(DIMS), m.draw(DIMS)
    a, b = m.tensor(m.draw(TYPES), n, cells, b2, b3), m.tensor(m.draw(st.sampled_from((F32, F16))), n, rows, b2, b3)
    ids = m.tensor(m.draw(st.sampled_from((I64, I32))), rows, m.draw(st.sampled_from((1, b2))), 1)
    m.add(function, a, b, ids)


def _glu(m: Maker, function: str) -> None:
    if function == "glu":
        _one(m, function, st.integers(0, len(GLU_OPS) - 1), st.booleans())
        return
    ne = m.sizes()
    a, b = m.tensor(F32, *ne), m.tensor(F32, *ne)
    m.add(function, a, b, *((m.draw(st.integers(0, 5)),) if function == "glu_split" else (1.702, 7.0)))


def _top_k(m: Maker, function: str) -> None:
    _one(m, function, st.integers(1, 9), dtype=F32)


def _view(m: Maker, function: str) -> None:
    ne = m.sizes()
    dtype = m.draw(st.sampled_from((F32, F16)))
    a = m.tensor(dtype, *ne)
    n = int(function[5])
    size = 4 if dtype == F32 else 2
    shape = [m.draw(st.integers(1, max(1, k))) for k in ne[:n]]
    strides = [size * ne[0], size * ne[0] * ne[1], size * ne[0] * ne[1] * ne[2]][: n - 1]
    m.add(function, a, *shape, *strides, m.draw(st.sampled_from((0, 0, size, 8 * size, 10**6))))
    if m.draw(st.booleans()):
        m.add("view_1d", len(m.steps) - 1, 1, size)


def _reshaped(m: Maker, function: str) -> None:
    ne = m.sizes()
    total = ne[0] * ne[1] * ne[2] * ne[3]
    n = int(function[-2])
    cuts = {1: [total], 2: [ne[0] * ne[1], ne[2] * ne[3]], 3: [ne[0], ne[1] * ne[2], ne[3]], 4: list(ne)}[n]
    if m.draw(st.integers(0, 5)) == 0:
        cuts[0] += 1
    m.add(function, m.tensor(m.draw(st.sampled_from((F32, F16, I32))), *ne), *m.draw(st.permutations(cuts)))


def _permute(m: Maker, function: str) -> None:
    axes = m.draw(st.permutations((0, 1, 2, 3)) | st.just([0, 1, 1, 3]))
    m.add(function, m.tensor(m.draw(TYPES), *m.sizes()), *axes)
    m.add("transpose", len(m.steps) - 1)


def _cpy(m: Maker, function: str) -> None:
    ne = m.sizes()
    m.add(function, m.tensor(F32, *ne), m.tensor(m.draw(st.sampled_from((F32, F16))), *ne))


def _repeat(m: Maker, function: str) -> None:
    ne = m.sizes()
    large = [n * m.draw(st.integers(1, 3)) for n in ne]
    a = m.tensor(F32, *ne)
    m.add(function, a, *([m.tensor(F32, *large)] if function == "repeat" else large))


def _concat(m: Maker, function: str) -> None:
    ne, dim = m.sizes(), m.draw(st.integers(0, 3))
    other = [n if i != dim else m.draw(DIMS) for i, n in enumerate(ne)]
    m.add(function, m.tensor(F32, *ne), m.tensor(F32, *other), dim)


def _soft_max_ext(m: Maker, function: str) -> None:
    n, rows, heads, streams = m.sizes()
    a = m.tensor(F32, n, rows, heads, streams)
    masked = m.draw(st.booleans())
    mask = m.tensor(m.draw(st.sampled_from((F16, F32))), n, rows, 1, streams) if masked else None
    result = m.add(function, a, mask, m.draw(FLOATS), m.draw(st.sampled_from((0.0, 8.0))))
    if m.draw(st.booleans()):
        m.add("soft_max_add_sinks", result, m.tensor(F32, heads))


def _rope(m: Maker, function: str) -> None:
    n, heads, tokens = m.draw(ROW), m.draw(DIMS), m.draw(DIMS)
    a, positions = m.tensor(F32, n, heads, tokens), m.tensor(I32, tokens)
    factors = m.tensor(F32, max(1, n // 2)) if m.draw(st.booleans()) else None
    mode = m.draw(st.sampled_from((0, 0, 2, 8, 1)))
    m.add(function, a, positions, factors, n, mode, 4096, *(m.draw(FLOATS) for _ in range(6)))


def _flash(m: Maker, function: str) -> None:
    n, tokens, kv, heads, streams = m.draw(ROW), m.draw(DIMS), m.draw(DIMS), m.draw(DIMS), m.draw(DIMS)
    groups = m.draw(st.integers(1, 3))
    q = m.tensor(F32, n, tokens, heads * groups, streams)
    k, v = m.tensor(F16, n, kv, heads, streams), m.tensor(F16, m.draw(ROW), kv, heads, streams)
    mask = m.tensor(F16, kv, tokens, 1, streams) if m.draw(st.booleans()) else None
    result = m.add(function, q, k, v, mask, m.draw(FLOATS), m.draw(st.sampled_from((0.0, 8.0))), m.draw(FLOATS))
    m.add("prec_set_acc", result, 10)
    m.add("flash_attn_ext_set_n_kv_max", result, m.draw(st.sampled_from((0, 7, -1))))
    if m.draw(st.booleans()):
        m.add("flash_attn_ext_add_sinks", result, m.tensor(F32, heads * groups))


MAKERS: dict[str, Callable[[Maker, str], None]] = {
    **dict.fromkeys(("add", "sub", "mul", "div"), _elementwise),
    **dict.fromkeys(("dup", "sqr", "sqrt", "sum_rows", "mean", "cumsum", "transpose", "cont", "soft_max"), _one),
    **dict.fromkeys(("norm", "rms_norm", "l2_norm", "scale", "scale_inplace", "fill"), lambda m, f: _one(m, f, FLOATS)),
    **dict.fromkeys(("scale_bias", "clamp"), lambda m, f: _one(m, f, FLOATS, FLOATS)),
    **dict.fromkeys(("unary", "unary_inplace"), lambda m, f: _one(m, f, st.integers(0, len(UNARY_OPS) - 1))),
    **dict.fromkeys(("glu", "glu_split", "swiglu_oai"), _glu),
    **dict.fromkeys(("top_k", "argsort_top_k"), _top_k),
    **{f"view_{n}d": _view for n in (1, 2, 3, 4)},
    **{f"reshape_{n}d": _reshaped for n in (1, 2, 3, 4)},
    **{f"cont_{n}d": _reshaped for n in (2, 4)},
    **dict.fromkeys(("repeat", "repeat_4d"), _repeat),
    "leaky_relu": lambda m, f: _one(m, f, FLOATS, st.booleans()),
    "group_norm": lambda m, f: _one(m, f, st.integers(1, 4), FLOATS),
    "argsort": lambda m, f: _one(m, f, st.integers(0, 1)),
    "cast": lambda m, f: _one(m, f, st.sampled_from((F32, F16, Q8))),
    "pad": lambda m, f: _one(m, f, *[st.integers(0, 3)] * 4),
    "add_id": _add_id,
    "mul_mat": _mul_mat,
    "out_prod": _out_prod,
    "mul_mat_id": _mul_mat_id,
    "get_rows": _get_rows,
    "set_rows": _set_rows,
    "permute": _permute,
    "cpy": _cpy,
    "concat": _concat,
    "soft_max_ext": _soft_max_ext,
    "rope_ext": _rope,
    "flash_attn_ext": _flash,
}


@st.composite
def questions(draw: Draw, function: str) -> list[Step]:
    """Steps that end in a call of the function."""
    maker = Maker(draw)
    MAKERS[function](maker, function)
    return maker.steps
