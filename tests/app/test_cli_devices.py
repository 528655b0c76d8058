"""`galloscope devices`: the list, one device, other limits, JSON, and names that are none."""

import json
import re

import pytest

from galloscope.app.cli import main
from galloscope.core.devices.known import DEVICES

Capture = pytest.CaptureFixture[str]


def test_list_names_every_device(capsys: Capture) -> None:
    assert main(["devices"]) == 0
    head, *rows = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert head.split()[:3] == ["name", "device", "type"]
    assert [row.split()[0] for row in rows] == list(DEVICES)
    assert [row.split()[1] for row in rows] == ["CPU", "CUDA0", "MTL0", "Vulkan0", "BLAS", "GPU0"]


@pytest.mark.parametrize("name", DEVICES)
def test_one_device_tells_rules_limits_and_what_is_simplified(name: str, capsys: Capture) -> None:
    assert main(["devices", name]) == 0
    shown = capsys.readouterr().out
    assert all(len(line) <= 120 for line in shown.splitlines())
    told = " ".join(shown.split())
    profile = DEVICES[name]
    for text in (*profile.simplified, *profile.named, *profile.units.values(), profile.source):
        assert " ".join(text.split()) in told
    for op in (*profile.rules, *profile.left_out):
        assert op.value in told


def test_other_limits_are_shown_as_such(capsys: Capture) -> None:
    assert main(["devices", "cuda:8GiB:cc=610,max_size=4GiB"]) == 0
    told = capsys.readouterr().out
    assert re.search(r"^memory +8 GiB$", told, re.M)
    assert re.search(r"^  max_size +4 GiB +largest single buffer \*$", told, re.M)
    assert re.search(r"^  cc +610 +compute capability .* \*$", told, re.M)
    assert re.search(r"^  align +128 +bytes$", told, re.M)
    assert told.rstrip().endswith("* overridden")


def test_json(capsys: Capture) -> None:
    assert main(["devices", "--json"]) == 0
    docs = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [doc["name"] for doc in docs] == list(DEVICES)
    cuda = docs[list(DEVICES).index("cuda")]
    assert cuda["limits"] == {
        "align": 128,
        "max_size": None,
        "pad_quant": 512,
        "cc": 890,
        "offload_min_batch": 32,
        "fa_all_quants": 0,
        "fa_convert": 1,
        "integrated": 0,
    }
    assert {"ops": ["SSM_CONV"], "asks": "d_inner is a multiple of 128"} in cuda["rules"]
    assert (cuda["others"], docs[0]["others"]) == ("refused", "supported")
    for doc in docs:
        named = [op for rule in doc["rules"] for op in rule["ops"]] + doc["always"] + list(doc["left_out"])
        assert sorted(named) == sorted(
            {op.value for op in (*DEVICES[doc["name"]].rules, *DEVICES[doc["name"]].left_out)}
        )


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("cdua", "'cdua' is not a device (did you mean 'cuda'?)"),
        ("cuda:1GiB:allign=1", "'allign' is not a limit of it (did you mean 'align'?)"),
    ],
)
def test_no_device(name: str, says: str, capsys: Capture) -> None:
    assert main(["devices", name]) == 2
    captured = capsys.readouterr()
    assert says in captured.err
    assert captured.out == ""


def test_a_device_without_rules_says_that_it_runs_everything(capsys: Capture) -> None:
    assert main(["devices", "gpu"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("made-up GPU (gpu)\n")
    assert "\n\nEvery op is supported.\n\n" in text
    assert "Rules:" not in text
    assert "Supported whatever" not in text
