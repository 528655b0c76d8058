"""Inputs from .npy files: what is wrong with a file is said before its data are read."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.execute.feed import Zeros
from galloscope.core.execute.feeds.npy import NUMBERS, NpyFeed, parse_inputs, read_npy
from galloscope.tests.core.execute.feeds.leafs import F16, F32, I32, tensor


def saved(tmp_path: Path, array: object, name: str = "x.npy") -> Path:
    path = tmp_path / name
    np.save(path, array)  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize("name", sorted(NUMBERS))
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_type_in_both_orders(tmp_path: Path, name: str, order: str) -> None:
    one = tensor("x", DTYPES[name], 3, 4, 5)
    array = np.asarray(np.arange(60).reshape(5, 4, 3), NUMBERS[name], order=order)  # type: ignore[call-overload]
    assert read_npy(saved(tmp_path, array), one).tobytes() == array.tobytes("C")


@given(st.integers(0, 3), st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3)))
def test_leading_ones_may_be_left_out(left_out: int, shape: tuple[int, int, int, int]) -> None:
    one = tensor("x", F32, *shape[::-1])
    array = np.random.default_rng(0).random(shape, np.float32)
    bare = array
    for _ in range(left_out):
        bare = bare[0] if bare.ndim and bare.shape[0] == 1 else bare
    with tempfile.TemporaryDirectory() as folder:
        assert read_npy(saved(Path(folder), bare), one).tobytes() == array.tobytes()


def test_quantised_tensors_are_bytes(tmp_path: Path) -> None:
    one = tensor("w", DTYPES["q4_0"], 64, 3, weight=True)
    blocks = np.arange(3 * 36, dtype=np.uint8).reshape(3, 36)
    assert read_npy(saved(tmp_path, blocks), one).tobytes() == blocks.tobytes()
    with pytest.raises(InputError, match=r"needs \(3, 36\)"):
        read_npy(saved(tmp_path, blocks[:2]), one)


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (np.zeros((2, 3)), r"holds float64, tensor 'x' is f32: save it with \.astype\('float32'\)"),
        (np.zeros((2, 3), np.int32), "holds int32"),
        (np.zeros((2, 3), ">f4"), r"float32 \(big-endian\)"),
        (np.zeros((3, 2), np.float32), r"its shape is \(3, 2\), tensor 'x' \(f32 .*\) needs \(2, 3\)"),
        (np.zeros((2, 3, 1), np.float32), r"its shape is \(2, 3, 1\)"),
        (np.zeros(6, np.float32), r"its shape is \(6,\)"),
        (np.array([["a", "b", "c"]] * 2), "holds str"),
    ],
)
def test_wrong_arrays(tmp_path: Path, array: object, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_npy(saved(tmp_path, array), tensor("x", F32, 3, 2))


def test_pickles_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.array([[{}, 1, 2]] * 2, object), allow_pickle=True)
    with pytest.raises(InputError, match="holds object"):
        read_npy(path, tensor("x", F32, 3, 2))


def test_wrong_files(tmp_path: Path) -> None:
    one = tensor("x", F32, 3, 2)
    with pytest.raises(InputError, match="cannot be read"):
        read_npy(tmp_path / "missing.npy", one)
    path = saved(tmp_path, np.zeros((2, 3), np.float32))
    data = path.read_bytes()
    for changed in (data[:-1], data + b"\0"):
        path.write_bytes(changed)
        with pytest.raises(InputError, match=rf"the file has {len(changed)} bytes, its header asks for {len(data)}"):
            read_npy(path, one)
    for broken in (
        b"",
        b"GGUF",
        data[:8],
        data[:20],
        b"\x93NUMPY\x09\x00" + data[8:],
        b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + data[10:],
        data.replace(b"descr", b"DESCR"),
        data.replace(b"(2, 3)", b"(2, 3 "),
        data.replace(b"(2, 3)", b"[2, 3]"),
        data.replace(b"(2, 3)", b"(-2,3)"),
        data.replace(b"False", b"12345"),
    ):
        path.write_bytes(broken)
        with pytest.raises(InputError, match=r"x\.npy: not a \.npy file of numbers"):
            read_npy(path, one)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.npy"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match=r"pipe\.npy: not a regular file"):
        read_npy(pipe, tensor("x", F32, 3, 2))


def test_a_header_that_python_would_warn_of_is_one_error(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    path = saved(tmp_path, np.zeros((2, 3), np.float32))
    path.write_bytes(path.read_bytes().replace(b"(2, 3)", b"0if 1"))
    with pytest.raises(InputError, match="its header is broken"):
        read_npy(path, tensor("x", F32, 3, 2))
    assert not recwarn.list


def test_a_header_that_promises_too_much_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(saved(tmp_path, np.zeros((2, 3), np.float32)).read_bytes().replace(b"(2, 3)", b"(9999999999,3)"))
    with pytest.raises(InputError, match="shape"):
        read_npy(path, tensor("x", F32, 3, 2))


def test_the_feed_overrides_another(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    x, y, weight = tensor("x", F32, 3, 2), tensor("y", I32, 3), tensor("w", F16, 3, weight=True)
    files = {"x": saved(tmp_path, array), "w": saved(tmp_path, np.ones(3, np.float16), "w.npy")}
    feed = NpyFeed(files, ["x", "y", "w"], Zeros())
    filled, weights = feed.leaf(x), feed.external(weight)
    assert filled is not None
    assert filled.tobytes() == array.tobytes()
    assert feed.leaf(y) is None
    assert weights is not None
    assert weights.tobytes() == np.ones(3, np.float16).tobytes()
    with pytest.raises(InputError, match=r"the graph has no input 'inp_token' \(did you mean 'inp_tokens'\?\)"):
        NpyFeed({"inp_token": Path("x.npy")}, ["inp_tokens"], Zeros())


def test_command_line() -> None:
    assert parse_inputs(["a=b=c.npy", "d=e.npy"]) == {"a=b": Path("c.npy"), "d": Path("e.npy")}
    for wrong in ("a", "=x.npy", "a="):
        with pytest.raises(InputError, match=r"NAME=FILE\.npy"):
            parse_inputs([wrong])
    with pytest.raises(InputError, match="'a' is given twice"):
        parse_inputs(["a=1.npy", "a=2.npy"])
