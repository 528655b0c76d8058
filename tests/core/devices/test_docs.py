"""docs/devices.md: its example is a working profile, its table and its sentences are true."""

import re
from pathlib import Path
from types import ModuleType

from galloscope.core.devices.batches import big_batches
from galloscope.core.devices.known import DEVICES
from galloscope.core.devices.profile import Profile
from galloscope.core.op import Op
from galloscope.tests.core.devices.cases import attention, mul_mat, op, t

PAGE = (Path(__file__).parents[3] / "docs" / "devices.md").read_text(encoding="utf-8")


def test_the_example_is_a_profile() -> None:
    found = re.search(r"```python\n(.*?)```", PAGE, re.S)
    assert found is not None
    module = ModuleType("galloscope.core.devices.toy")
    module.__package__ = "galloscope.core.devices"
    exec(compile(found[1], "docs/devices.md", "exec"), module.__dict__)
    toy = module.__dict__["TOY"]
    assert isinstance(toy, Profile)
    assert toy.supports(mul_mat(t("f16"), t("f32"))) == ""
    assert toy.supports(mul_mat(t("f16", 1, 70000), t("f32", 1, 1))) == "MUL_MAT: 70000 rows are more than 65536"
    assert toy.supports(mul_mat(t("f32"), t("f32"))) == "MUL_MAT: source 0 is f32, not f16"
    assert toy.supports(op(Op.ADD, t("f32"), t("f32"))) == "ADD: Toy has no kernel for it"
    assert toy.with_limits({"max_rows": 8}).supports(mul_mat(t("f16"), t("f32"))) == "MUL_MAT: 32 rows are more than 8"


def test_the_table_names_every_device() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.M)
    assert rows == list(DEVICES)


def test_the_sentences_are_those_of_the_rules() -> None:
    cuda = DEVICES["cuda"]
    assert f"CUDA0 refuses {cuda.supports(attention(256, 'iq4_nl'))}\n" in PAGE
    assert f"CUDA0 does not take over {big_batches(mul_mat(t('f16'), t('f32', 64, 1)), cuda)}\n" in PAGE


def test_the_limits_it_names_exist() -> None:
    limits = {name for profile in DEVICES.values() for name in profile.limits()}
    assert {"cc", "bfloat", "coopmat2", "fa_convert", "fa_all_quants", "align", "max_size", "pad_quant"} <= limits
