"""The tensor types of ggml 0.26: how many elements make a block and how many bytes a block takes.

Source: the type traits table of ggml.c; `tests/core/test_dtypes.py` compares it with the library.
"""

from __future__ import annotations

import msgspec


class DType(msgspec.Struct, frozen=True):
    """One ggml_type.

    Attributes:
        name: as `ggml_type_name` prints it (case counts: ``q4_K``).
        id: the number in enum ggml_type.
        block: elements per block (ggml_blck_size).
        size: bytes per block (ggml_type_size).
        quantized: ggml_is_quantized.
    """

    name: str
    id: int
    block: int
    size: int
    quantized: bool


def _row(type_id: int, name: str, block: int, size: int) -> DType:
    return DType(name, type_id, block, size, block > 1)


_TABLE = (
    _row(0, "f32", 1, 4),
    _row(1, "f16", 1, 2),
    _row(2, "q4_0", 32, 18),
    _row(3, "q4_1", 32, 20),
    _row(6, "q5_0", 32, 22),
    _row(7, "q5_1", 32, 24),
    _row(8, "q8_0", 32, 34),
    _row(9, "q8_1", 32, 36),
    _row(10, "q2_K", 256, 84),
    _row(11, "q3_K", 256, 110),
    _row(12, "q4_K", 256, 144),
    _row(13, "q5_K", 256, 176),
    _row(14, "q6_K", 256, 210),
    _row(15, "q8_K", 256, 292),
    _row(16, "iq2_xxs", 256, 66),
    _row(17, "iq2_xs", 256, 74),
    _row(18, "iq3_xxs", 256, 98),
    _row(19, "iq1_s", 256, 50),
    _row(20, "iq4_nl", 32, 18),
    _row(21, "iq3_s", 256, 110),
    _row(22, "iq2_s", 256, 82),
    _row(23, "iq4_xs", 256, 136),
    _row(24, "i8", 1, 1),
    _row(25, "i16", 1, 2),
    _row(26, "i32", 1, 4),
    _row(27, "i64", 1, 8),
    _row(28, "f64", 1, 8),
    _row(29, "iq1_m", 256, 56),
    _row(30, "bf16", 1, 2),
    _row(34, "tq1_0", 256, 54),
    _row(35, "tq2_0", 256, 66),
    _row(39, "mxfp4", 32, 17),
    _row(40, "nvfp4", 64, 36),
    _row(41, "q1_0", 128, 18),
    _row(42, "q2_0", 64, 18),
)

DTYPES: dict[str, DType] = {dtype.name: dtype for dtype in _TABLE}
"""Every type that can hold data, by name. Ids 4, 5, 31-33 and 36-38 were removed from ggml and hold none."""

F32 = DTYPES["f32"]

Shape = tuple[int, int, int, int]


def contiguous(dtype: DType, ne: Shape) -> Shape:
    """The strides nb (bytes) of a contiguous tensor, as in ggml_new_tensor.

    >>> contiguous(DTYPES["q4_0"], (64, 2, 1, 1))
    (18, 36, 72, 72)
    """
    nb1 = dtype.size * (ne[0] // dtype.block)
    nb2 = nb1 * ne[1]
    return dtype.size, nb1, nb2, nb2 * ne[2]


def nbytes(dtype: DType, ne: Shape, nb: Shape) -> int:
    """Bytes from the first to the last element of a strided tensor (ggml_nbytes); 0 when a dimension is 0.

    >>> nbytes(F32, (64, 2, 1, 1), (4, 512, 1024, 1024))
    768
    """
    n0, n1, n2, n3 = ne
    if n0 <= 0 or n1 <= 0 or n2 <= 0 or n3 <= 0:
        return 0
    rest = (n1 - 1) * nb[1] + (n2 - 1) * nb[2] + (n3 - 1) * nb[3]
    if dtype.block == 1:
        return dtype.size + (n0 - 1) * nb[0] + rest
    return n0 * nb[0] // dtype.block + rest
