"""Every recorded graph of llama.cpp b11549: weights, caches, pins and copies as real llama.cpp had them.

The captures ran on made-up GPUs that take everything; the CUDA profile differs from them in nothing that places depend
on here.
"""

import re

import msgspec
import pytest

from galloscope.core.gguf.header import Header
from galloscope.core.llama.assemble import take
from galloscope.core.llama.options import DeviceSpec, FlashAttn, GraphMode, Options
from galloscope.tests.core.models import recorded

GPUS = [case for case in recorded.CASES if re.search(r"-g\d", case)]


def question_of(case: str, about: str, header: Header) -> tuple[Options, GraphMode]:
    options, mode, flash = recorded.question_of(case, about, header)
    gpus = re.search(r"(\d) GPU", about)
    layers = re.search(r"n_gpu_layers (\d+)", about)
    options = msgspec.structs.replace(
        options,
        devices=(DeviceSpec("cuda"),) * (int(gpus[1]) if gpus else 0),
        n_gpu_layers=int(layers[1]) if layers else 0,
        flash_attn=FlashAttn.ON if flash else FlashAttn.OFF,
        offload_kqv="KV cache on the CPU" not in about,
        op_offload="no op offload" not in about,
        no_host="no pinned host buffers" in about,
        repack="repack" in case,
    )
    return options, mode


@pytest.mark.parametrize("case", recorded.CASES)
def test_places_pins_and_copies_are_the_recorded_ones(case: str) -> None:
    problem = recorded.problem_of(case)
    header = recorded.header_of(case, problem)
    options, mode = question_of(case, problem.about, header)
    ours = take(header, options, [mode]).graphs[0].problem
    lies, pins = {}, {}
    for tensor in problem.requests[0].graph.tensors:
        if tensor.buft >= 0 and tensor.view_src < 0:
            name = problem.bufts[tensor.buft].name.replace("GPU", "CUDA")
            lies[tensor.name] = (name.replace("CPU_Mapped", "CPU"), tensor.is_weight)  # two cases were mapped
        if tensor.pin >= 0 and len(problem.backends) > 1:
            pins[tensor.name] = problem.backends[tensor.pin].name.replace("GPU", "CUDA")
    tensors = ours.requests[0].graph.tensors
    assert {t.name: (ours.bufts[t.buft].name, t.is_weight) for t in tensors if t.buft >= 0} == lies
    if len(ours.backends) > 1:
        assert {t.name: ours.backends[t.pin].name for t in tensors if t.pin >= 0} == pins
    assert [one.name.replace("GPU", "CUDA") for one in problem.backends] == [one.name for one in ours.backends]
    assert ours.config.op_offload == problem.config.op_offload
    if "nopp" not in case:  # those GPUs had no events
        assert ours.config.n_copies == problem.config.n_copies


def test_there_are_cases_with_gpus() -> None:
    assert len(GPUS) > 40
