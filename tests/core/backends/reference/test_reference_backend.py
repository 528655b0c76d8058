"""The reference backend without the real ggml: its door, and its weights and functions against plain ones."""

import numpy as np
import pytest

from galloscope.core.backends.backend import make_backend
from galloscope.core.backends.kernel import Call
from galloscope.core.backends.kernels.known import KERNELS
from galloscope.core.backends.quants import dequantize
from galloscope.core.backends.reference import libm
from galloscope.core.backends.reference.backend import ReferenceBackend
from galloscope.core.backends.reference.blocks import UNPACK, unpacked
from galloscope.core.backends.reference.known import REFERENCE
from galloscope.core.backends.reference.lanes import exponential
from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.op import Op
from galloscope.tests.core.backends.cases.given import node


def test_it_has_a_name() -> None:
    assert isinstance(make_backend("reference"), ReferenceBackend)


def test_it_rounds_as_ggml_does() -> None:
    with pytest.raises(InputError, match="leave --exact out"):
        make_backend("reference", exact=True)


def test_it_needs_a_c_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr("ctypes.CDLL", nowhere)
    libm.library.cache_clear()
    with pytest.raises(InputError, match="take another backend"):
        make_backend("reference")


def test_sources_are_asked_for_before_they_are_checked() -> None:
    """A node without its sources is told by the check, not before."""
    broken = Call(node(Op.MUL_MAT, "f32", (4, 4)), (None, None, None))
    for op in (Op.MUL_MAT, Op.MUL_MAT_ID, Op.FLASH_ATTN_EXT):
        assert len(REFERENCE[op].reads(broken)) == 3
        assert REFERENCE[op].check(broken) == "source 0 is missing"


def test_every_op_has_a_kernel() -> None:
    assert REFERENCE.keys() == KERNELS.keys()
    assert all(REFERENCE[op].rows_from == KERNELS[op].rows_from for op in KERNELS)


@pytest.mark.parametrize("name", UNPACK)
def test_weights_taken_apart_are_the_same_numbers(name: str) -> None:
    dtype = DTYPES[name]
    random = np.random.default_rng(1)
    raw = random.integers(0, 256, (1, 2, 3, 4, dtype.size), np.uint8)
    if name == "mxfp4":
        raw[..., 0] = random.integers(110, 140, raw.shape[:-1])
    else:  # a float16 of about 1 wherever a factor stands, as the bytes of one that is infinite say nothing
        for first in {"q6_K": (208,), "q3_K": (108,), "q2_K": (80, 82)}.get(name, (0, 2)[: 1 + has_minima(name)]):
            raw[..., first + 1] = 0x3C
    values = dequantize(raw, dtype)
    matrices = unpacked(name, raw)
    for at in np.ndindex(1, 2):
        w = matrices[at]
        integers = w.integers.astype(np.float64) - w.bias
        per = 1 if w.scales is None else 256 // w.scales.shape[1]
        scales = 1.0 if w.scales is None else np.repeat(w.scales.astype(np.float64), per, axis=1)
        made = integers * scales * w.factors[:, None].astype(np.float64)
        if w.minima is not None:
            mins = -1.0 if w.mins is None else np.repeat(w.mins.astype(np.float64), 256 // w.mins.shape[1], axis=1)
            made = made - mins * w.minima[:, None]
        assert np.allclose(made.transpose(2, 0, 1).reshape(3, -1), values[at], rtol=1e-6, atol=1e-6)


def has_minima(name: str) -> bool:
    return name in ("q4_1", "q5_1", "q4_K", "q5_K")


def test_the_exponential_function_is_one() -> None:
    x = np.concatenate([np.linspace(-110, 100, 20001), [-np.inf, np.inf, 0, -0.0, 88.7, 89.5, -104.1]]).astype(
        np.float32
    )
    with np.errstate(all="ignore"):
        wanted = np.exp(x.astype(np.float64)).astype(np.float32)
        assert np.allclose(exponential(x), wanted, rtol=3e-7, atol=3e-45)
