"""CUDA: bytes behind a tensor, and which flash attention kernel asks for them."""

import pytest

from galloscope.core.devices.cuda import CUDA
from galloscope.core.devices.cuda_attention import Kernel, best_kernel
from galloscope.core.devices.known import device
from galloscope.core.devices.seen import Seen, see
from galloscope.core.llama.options import DeviceSpec
from galloscope.core.op import Op
from galloscope.tests.core.devices.cases import attention, op, t

PASCAL, VOLTA, TURING = (device(DeviceSpec("cuda", limits={"cc": cc})) for cc in (610, 700, 750))


@pytest.mark.parametrize(
    ("seen", "size"),
    [
        (t("f16", 100, 4), 800),
        (t("q4_0", 512, 4), 4 * 288),
        (t("q4_0", 4096, 4), 4 * 2304),
        (t("q4_0", 64, 4), 4 * 36 + 448 // 32 * 18),
        (t("q4_K", 768, 2), 2 * 432 + 144),
        (attention(128, "f16"), 128 * 512 * 32 * 4),
        (attention(128, "f16", n=1), 128 * 32 * 4),
        (attention(128, "q8_0"), 128 * 512 * 32 * 4 + 2 * 2 * 128 * 1024 * 8),
        (attention(128, "f16", "q8_0"), 128 * 512 * 32 * 4 + 2 * 128 * 1024 * 8),
        (attention(128, "q8_0", n=1), 128 * 32 * 4),
        (attention(128, "q5_1", n=1), 128 * 32 * 4 + 2 * 2 * 128 * 1024 * 8),
        (attention(128, "f32", "f16", n=1), 128 * 32 * 4 + 2 * 128 * 1024 * 8),
        (attention(128, "iq4_nl"), 128 * 512 * 32 * 4),
    ],
    ids=str,
)
def test_alloc_size(seen: Seen, size: int) -> None:
    assert CUDA.alloc_size(seen) == size


def test_conversions_start_at_a_multiple_of_128() -> None:
    odd = attention(40, "q8_0", heads=1, kv_heads=1, n=3, cells=5)
    assert odd.nbytes == 480
    of_k = of_v = 2 * 40 * 5
    assert CUDA.alloc_size(odd) == 512 + of_k + 112 + of_v


@pytest.mark.parametrize(
    ("k_at", "v_at", "shared"),
    [(0, 0, True), (64, 64, True), (0, 64, False), (None, 64, True), (0, None, False), (None, None, False)],
)
def test_v_that_is_a_view_of_k_is_converted_once(k_at: int | None, v_at: int | None, shared: bool) -> None:
    q = t("f32", 576, 512, 16)
    k = see(Op.VIEW, "q8_0", (576, 1024, 1), owner=7, view=k_at)
    v = see(Op.VIEW, "q8_0", (512, 1024, 1), nb=k.nb, owner=7, view=v_at)
    seen = op(Op.FLASH_ATTN_EXT, q, k, v, t("f16", 1024, 512), ne=(512, 16, 512), params=[1.0, 0.0, 0.0])
    assert CUDA.supports(seen) == ""
    assert CUDA.alloc_size(seen) - seen.nbytes == 2 * 1024 * 576 + (0 if shared else 2 * 1024 * 512)


@pytest.mark.parametrize(
    ("seen", "ada", "turing", "volta", "pascal"),
    [
        (attention(n=512), "MMA_F16", "MMA_F16", "MMA_F16", "TILE"),
        (attention(n=1), "VEC", "MMA_F16", "TILE", "TILE"),
        (attention(n=1, kv_heads=32), "VEC", "VEC", "VEC", "VEC"),
        (attention(n=1, kv_heads=4, cells=8192), "MMA_F16", "MMA_F16", "TILE", "TILE"),
        (attention(256, n=1, kv_heads=4), "MMA_F16", "MMA_F16", "TILE", "TILE"),
        (attention(256, n=1, kv_heads=8), "VEC", "MMA_F16", "TILE", "TILE"),
        (attention(n=1, cells=1000), "MMA_F16", "MMA_F16", "TILE", "TILE"),
        (attention(k="q8_0", n=2), "VEC", "MMA_F16", "TILE", "VEC"),
        (attention(k="q8_0", n=1), "VEC", "VEC", "TILE", "VEC"),
        (attention(k="q8_0", n=3), "MMA_F16", "MMA_F16", "TILE", "TILE"),
        (attention(40, n=512), "TILE", "TILE", "TILE", "TILE"),
        (attention(80, n=1), "MMA_F16", "MMA_F16", "TILE", "TILE"),
        (attention(576, v_head=512, n=8, heads=16, kv_heads=1), "MMA_F16", "MMA_F16", "MMA_F16", "TILE"),
        (attention(48), "NONE", "NONE", "NONE", "NONE"),
    ],
)
def test_kernel_by_generation(seen: Seen, ada: str, turing: str, volta: str, pascal: str) -> None:
    kernels = [best_kernel(seen, profile) for profile in (CUDA, TURING, VOLTA, PASCAL)]
    assert kernels == [Kernel[name] for name in (ada, turing, volta, pascal)]


def test_builds_with_all_kernels_convert_less() -> None:
    every = device(DeviceSpec("cuda", limits={"fa_all_quants": 1}))
    one = attention(128, "q5_1", n=1)
    assert every.alloc_size(one) == one.nbytes < CUDA.alloc_size(one)
