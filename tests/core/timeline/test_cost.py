"""The cost model: assumed values, files, changes of an address, times in whole nanoseconds."""

import json
import re
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.devices.known import DEVICES
from galloscope.core.errors import InputError
from galloscope.core.graph import Backend
from galloscope.core.timeline.cost import (
    HOST,
    Cost,
    assumed,
    latency,
    nanoseconds,
    parse_changes,
    read_cost,
    with_device,
    write_cost,
)
from galloscope.core.timeline.rates import ASSUMED, BUS, PEER, WITHIN, Device

DOCS = Path(__file__).resolve().parents[3] / "docs" / "timeline.md"


def backends(*kinds: str) -> list[Backend]:
    """A backend per kind: a profile (`cuda`), or a type (`gpu`)."""
    made = []
    for k, kind in enumerate(kinds):
        profile = kind if kind in DEVICES else ""
        made.append(
            Backend(f"{kind.upper()}{k}", DEVICES[kind].type if profile else kind, k, frozenset({k}), profile=profile)
        )
    return made


MACHINE = backends("cuda", "gpu", "cpu")


def read(document: Any, machine: list[Backend] = MACHINE) -> Cost:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return read_cost(data, "cost.json", machine)


def test_every_profile_and_type_has_assumed_numbers() -> None:
    assert set(DEVICES) <= set(ASSUMED)
    assert {"cpu", "gpu", "igpu", "accel"} <= set(ASSUMED)
    for device, stands_for in ASSUMED.values():
        assert stands_for
        assert device.matrix >= device.other > 0


def test_the_documentation_has_the_same_numbers() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for kind, (device, _) in ASSUMED.items():
        row = re.search(rf"^\| `{kind}` \|(.*)\|.*\|$", text, re.MULTILINE)
        assert row is not None, kind
        cells = [float(cell) for cell in re.findall(r"[\d.]+(?:e-?\d+)?", row[1])]
        assert cells[:4] == [device.matrix, device.other, device.memory, device.launch], kind
    for link in (BUS[0], PEER[0], WITHIN[0]):
        assert re.search(rf"\| {link.speed:.1e} \| {link.latency:.1e} \|".replace("e+", r"e\+?"), text), link


def test_the_kind_of_a_device_chooses_its_numbers_and_links() -> None:
    cost = assumed(backends("cuda", "cuda", "metal", "igpu", "cpu"))
    assert cost.devices[0] == ASSUMED["cuda"][0]
    assert cost.devices[2] == ASSUMED["metal"][0]
    assert cost.link(HOST, 0) == cost.link(0, HOST) == cost.link(0, 4) == BUS[0], "the CPU's memory is the host's"
    assert cost.link(0, 1) == PEER[0]
    assert cost.link(HOST, 2) == cost.link(HOST, HOST) == cost.link(2, 4) == WITHIN[0], "unified memory has no bus"
    assert set(cost.links) == set(cost.link_for)


def test_a_file_changes_what_it_names() -> None:
    cost = read({"devices": {"cuda": {"matrix": 1e15}}, "links": {"CUDA0-GPU1": {"speed": 1e9}}, "call": 1e-6})
    assert cost.devices[0] == Device(1e15, *_rest(ASSUMED["cuda"][0]))
    assert cost.devices[1:] == assumed(MACHINE).devices[1:]
    assert cost.link(0, 1).speed == 1e9
    assert cost.link(0, 1).latency == PEER[0].latency
    assert cost.call == 1e-6
    assert cost.changed == {("CUDA0", "matrix"), ("CUDA0-GPU1", "speed"), ("", "call")}


def _rest(device: Device) -> tuple[float, float, float]:
    return device.other, device.memory, device.launch


def test_a_name_wins_over_a_profile_and_a_profile_over_a_type() -> None:
    rates = {"CUDA0": {"memory": 3e9}, "gpu": {"memory": 1e9, "other": 1e9}, "cuda": {"memory": 2e9}}
    for order in (rates, dict(reversed(rates.items()))):
        cost = read({"devices": order})
        assert [device.memory for device in cost.devices[:2]] == [3e9, 1e9]
        assert cost.devices[0].other == 1e9


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (b"{", "not a cost model"),
        (b"[1]", "not a cost model"),
        (b"\xff\xfe", "not a cost model"),
        ({"device": {}}, "device"),
        ({"format": "galloscope-graph"}, "galloscope-cost"),
        ({"version": 2}, "version 2"),
        ({"devices": {"CUDA9": {}}}, "no device or kind is called 'CUDA9' .did you mean 'CUDA0'"),
        ({"devices": {"CUDA0": {"matrx": 1.0}}}, "no number 'matrx' .did you mean 'matrix'"),
        ({"devices": {"CUDA0": {"matrix": 0}}}, "matrix is 0, expected a number per second"),
        ({"devices": {"cuda": {"matrix": -1}}}, "device 'CUDA0': matrix is -1, expected a number per second"),
        ({"devices": {"metal": {"matrix": 1e9}}}, r"a 'metal'; it has CUDA0 \(cuda\), GPU1 \(gpu\), CPU2 \(cpu\)"),
        ({"devices": {"CUDA0": {"launch": -1}}}, "launch is -1, expected seconds"),
        ({"devices": {"CUDA0": {"launch": 1e9}}}, "expected seconds, from 0 to 3600"),
        ({"devices": {"CUDA0": {"matrix": "fast"}}}, "not a cost model"),
        (b'{"devices": {"CUDA0": {"matrix": 1e999}}}', "cost.json"),
        (
            {"links": {"CUDA0-CUDA9": {}}},
            "'CUDA0-CUDA9'; there are host-CUDA0, host-GPU1, host-CPU2, CUDA0-GPU1, CUDA0-CPU2, GPU1-CPU2$",
        ),
        ({"links": {"host-CUDA0": {"speed": 0.5}}}, "speed is 0.5"),
        ({"call": -1}, "call is -1"),
        (b"[" * 100_000, "not a cost model"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(document: Any, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        read(document)
    assert "cost.json" in str(caught.value)


def test_what_is_written_is_read_back() -> None:
    cost = read({"devices": {"GPU1": {"matrix": 123456789.5}}, "links": {"GPU1-host": {"latency": 0}}})
    again = read(write_cost(cost))
    assert (again.devices, again.links, again.call) == (cost.devices, cost.links, cost.call)


def test_changes_of_an_address() -> None:
    cost = parse_changes("0.matrix:6e13,0-1.speed:2e10,h-0.latency:1e-3,call:0,h-h.speed:5", MACHINE)
    assert cost.devices[0].matrix == 6e13
    assert cost.link(0, 1).speed == 2e10
    assert cost.link(HOST, 0).latency == 1e-3
    assert cost.link(HOST, HOST).speed == 5
    assert cost.call == 0
    assert parse_changes("", MACHINE) == assumed(MACHINE)


@pytest.mark.parametrize(
    "text",
    [
        "0.matrix", "9.matrix:1", "0-9.speed:1", "x.matrix:1", "0.matrix:one", "call.x:1", "h.speed:1", ":",
        "0.matrix=1",
        "0.speed:9", "0.matrix:nan", "1" * 5000,
    ],
)  # fmt: skip
def test_changes_that_cannot_be_read(text: str) -> None:
    with pytest.raises(InputError, match="cost"):
        parse_changes(text, MACHINE)


def test_values_never_change() -> None:
    cost = assumed(MACHINE)
    other = with_device(cost, 0, {"matrix": 1.0}, "here")
    assert cost == assumed(MACHINE)
    assert other.devices[0].matrix == 1.0


@given(st.integers(0, 2**70), st.floats(1, 1e24))
def test_times_are_exact_and_rounded_up(amount: int, rate: float) -> None:
    assert nanoseconds(amount, rate) == ceil(Fraction(amount) * 10**9 / Fraction(rate))


@given(st.floats(0, 3600))
def test_latencies_are_whole_nanoseconds(seconds: float) -> None:
    assert abs(latency(seconds) - seconds * 1e9) <= 0.51
