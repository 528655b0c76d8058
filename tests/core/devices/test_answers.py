"""The profiles against ggml's own GPU backends, whose answers about 5000 ops were recorded."""

from collections import Counter

import pytest

from galloscope.core.devices.known import DEVICES, device
from galloscope.core.devices.profile import Profile, anything
from galloscope.core.llama.options import DeviceSpec
from galloscope.tests.core.devices.answers import Answered, read

ANSWERS = read()
GPUS = ("metal", "vulkan", "cuda", "blas")


def profile_for(name: str, one: Answered) -> Profile:
    return device(DeviceSpec(name, None, one.limits.get(name, {})))


@pytest.mark.parametrize("name", GPUS)
def test_it_supports_what_ggml_supports(name: str) -> None:
    wrong = [
        (one.op, reason)
        for one in ANSWERS
        if name in one.supports
        for reason in [profile_for(name, one).supports(one.op)]
        if (reason == "") != one.supports[name]
    ]
    assert wrong == []


@pytest.mark.parametrize("name", ["metal", "cuda"])
def test_an_op_takes_as_many_bytes_as_in_ggml(name: str) -> None:
    asked = [one for one in ANSWERS if name in one.sizes]
    assert len(asked) > 20
    assert {one.op.op for one in asked} == set(DEVICES[name].extra)
    assert [one for one in asked if profile_for(name, one).alloc_size(one.op) != one.sizes[name]] == []


@pytest.mark.parametrize("name", GPUS)
def test_the_answers_show_both_sides_of_every_rule(name: str) -> None:
    sides = Counter((one.op.op, one.supports[name]) for one in ANSWERS if name in one.supports)
    for op, rule in DEVICES[name].rules.items():
        assert sides[op, True] > 0, op
        assert sides[op, False] > 0 or rule is anything, op
