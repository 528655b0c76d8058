"""-ngl, -ts and the default split: which device a layer goes to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.errors import InputError
from galloscope.core.llama.layers import Layers, place_layers
from galloscope.core.llama.machine import machine
from galloscope.core.llama.options import DeviceSpec, Options, SplitMode

GIB = 1 << 30


def placed(n_layer: int, memories: list[int], **given: object) -> Layers:
    options = Options(devices=tuple(DeviceSpec("cuda", size) for size in memories), **given)  # type: ignore[arg-type]
    return place_layers(n_layer, machine(options), options)


def names(layers: Layers) -> list[str]:
    return [one.name for one in layers.devices]


def test_without_a_gpu_all_is_on_the_cpu() -> None:
    layers = placed(4, [])
    assert names(layers) == ["CPU"] * 5
    assert layers.full_offload, "as llama.cpp counts: all layers are wanted on GPUs, there is just none"


@pytest.mark.parametrize(
    ("ngl", "on_gpu"), [(None, 33), (-1, 33), (99, 33), (33, 33), (32, 32), (20, 20), (1, 1), (0, 0)]
)
def test_ngl_counts_from_the_output_backwards(ngl: int | None, on_gpu: int) -> None:
    layers = placed(32, [24 * GIB], n_gpu_layers=ngl)
    assert names(layers) == ["CPU"] * (33 - on_gpu) + ["CUDA0"] * on_gpu
    assert layers.full_offload == (on_gpu == 33)


def test_reasons_say_the_flag_and_the_range() -> None:
    layers = placed(32, [24 * GIB], n_gpu_layers=20)
    assert layers.reasons[3] == "on CPU: -ngl 20 leaves layers 0 to 12 to it"
    assert layers.reasons[13] == "on CUDA0: -ngl 20 of 33: layers 13 to 31 and the output"
    assert placed(4, [GIB], n_gpu_layers=0).reasons[0] == "on CPU: -ngl 0 offloads nothing"
    assert placed(4, [GIB], n_gpu_layers=1).reasons[4] == "on CUDA0: -ngl 1 of 5: the output only"
    shared = placed(9, [GIB, GIB], tensor_split=(3.0, 1.0)).reasons[9]
    assert shared == "on CUDA1: all 9 layers and the output are offloaded, CUDA1 has 75 % to 100 % of them by -ts"


def test_the_default_split_is_by_memory() -> None:
    assert names(placed(7, [24 * GIB, 8 * GIB])) == ["CUDA0"] * 6 + ["CUDA1"] * 2


def test_a_tensor_split_counts_in_proportions() -> None:
    assert names(placed(7, [GIB] * 3, tensor_split=(1.0, 0.0, 1.0))) == ["CUDA0"] * 4 + ["CUDA2"] * 4
    assert names(placed(7, [GIB, GIB], tensor_split=(1.0,))) == ["CUDA0"] * 8
    assert names(placed(7, [3 * GIB, GIB], tensor_split=(0.0, 0.0))) == ["CUDA0"] * 6 + ["CUDA1"] * 2


def test_split_mode_none_uses_the_main_gpu_alone() -> None:
    assert names(placed(3, [GIB, GIB], split_mode=SplitMode.NONE, main_gpu=1)) == ["CUDA1"] * 4
    assert names(placed(3, [GIB, GIB], split_mode=SplitMode.NONE, main_gpu=-1)) == ["CPU"] * 4
    with pytest.raises(InputError, match="main GPU 2 is not there"):
        placed(3, [GIB, GIB], split_mode=SplitMode.NONE, main_gpu=2)


@pytest.mark.parametrize("split", [(float("nan"), 1.0), (-1.0, 2.0), (float("inf"), 1.0)])
def test_shares_that_are_none(split: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="is not a share"):
        placed(3, [GIB, GIB], tensor_split=split)


def test_more_proportions_than_gpus() -> None:
    with pytest.raises(InputError, match="-ts has 3 proportions, there are 2 GPUs"):
        placed(3, [GIB, GIB], tensor_split=(1.0, 1.0, 1.0))


@given(
    st.integers(1, 100),
    st.integers(0, 120),
    st.lists(st.integers(0, 1 << 40), min_size=1, max_size=4),
    st.lists(st.floats(0, 100, width=32), max_size=4),
)
def test_layers_go_in_order_and_every_share_counts(
    n_layer: int, ngl: int, memories: list[int], shares: list[float]
) -> None:
    split = tuple(shares[: len(memories)])
    layers = placed(n_layer, memories, n_gpu_layers=ngl, tensor_split=split)
    order = [["CPU", *(f"CUDA{i}" for i in range(4))].index(name) for name in names(layers)]
    assert order == sorted(order)
    assert sum(number > 0 for number in order) == min(ngl, n_layer + 1)
    if any(split):
        padded = [*split, *[0.0] * len(memories)]
        assert not any(number and not padded[number - 1] for number in order)
