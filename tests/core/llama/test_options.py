"""Flags, pasted commands and printed commands: one table, so an option is the same everywhere."""

import doctest
import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.devices.spec import parse_device
from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.llama import command as command_module
from galloscope.core.llama import flags as flags_module
from galloscope.core.llama.arguments import read_command, read_words
from galloscope.core.llama.command import command
from galloscope.core.llama.flags import CACHE_TYPES, FLAGS, words
from galloscope.core.llama.options import DeviceSpec, FlashAttn, Options, Override, SplitMode
from galloscope.core.llama.overrides import EXPERTS

small = st.integers(1, 1 << 20)
options = st.builds(
    Options,
    devices=st.lists(
        st.builds(DeviceSpec, st.sampled_from(["cpu", "cuda"]), st.none() | st.integers(1, 1 << 40)), max_size=3
    ).map(tuple),
    n_ctx=st.none() | st.integers(0, 1 << 20),
    n_batch=small,
    n_ubatch=small,
    n_seq_max=st.integers(1, 256),
    flash_attn=st.sampled_from(FlashAttn),
    type_k=st.sampled_from([DTYPES[name] for name in CACHE_TYPES]),
    type_v=st.sampled_from([DTYPES[name] for name in CACHE_TYPES]),
    n_gpu_layers=st.none() | st.integers(0, 200),
    split_mode=st.sampled_from(SplitMode),
    main_gpu=st.integers(0, 3),
    tensor_split=st.just(()) | st.lists(st.integers(1, 9).map(float), min_size=1, max_size=4).map(tuple),
    overrides=st.lists(
        st.builds(Override, st.text("abc.*|()\\d+-_ ", min_size=1, max_size=9), st.sampled_from(["CPU", "CUDA0"])),
        max_size=3,
    ).map(tuple),
    n_cpu_moe=st.integers(0, 99),
    offload_kqv=st.booleans(),
    op_offload=st.booleans(),
    no_host=st.booleans(),
    swa_full=st.booleans(),
    kv_unified=st.booleans(),
    repack=st.booleans(),
    n_tokens=st.none() | small,
    n_outputs=st.none() | small,
)


def test_the_table_has_every_option_once() -> None:
    # Pooling changes no reserve graph without embeddings, which only a session asks for.
    assert sorted(flag.field for flag in FLAGS) == sorted({*Options.__struct_fields__} - {"pooling"})
    names = [name for flag in FLAGS for name in flag.names]
    assert len(names) == len(set(names))


@given(options)
def test_words_and_back(given_options: Options) -> None:
    assert read_words(words(given_options)) == given_options
    assert read_command(shlex.join(words(given_options))) == (given_options, [])


def test_the_examples_in_the_docstrings() -> None:
    for module in (flags_module, command_module):
        assert doctest.testmod(module).failed == 0


def test_a_pasted_command_keeps_what_decides_and_names_the_rest() -> None:
    text = (
        "./build/bin/llama-server -m models/q.gguf -ngl 20 --ctx-size=8192 -fa -ctk q8_0 --temp 0.7 "
        "-ot 'exps=CPU,attn=CUDA0' --cpu-moe --host 0.0.0.0 -dev CUDA0,CUDA1 \\\n -nkvo -v --seed -1 -ts 3/1"
    )
    found, skipped = read_command(text)
    assert found == Options(
        devices=(parse_device("cuda"), parse_device("cuda")),
        n_gpu_layers=20,
        n_ctx=8192,
        flash_attn=FlashAttn.ON,
        type_k=DTYPES["q8_0"],
        overrides=(Override("exps", "CPU"), Override("attn", "CUDA0"), Override(EXPERTS, "CPU")),
        offload_kqv=False,
        tensor_split=(3.0, 1.0),
    )
    assert skipped == ["-m", "--temp", "--host", "-v", "--seed"]


def test_a_printed_command_reads_back() -> None:
    asked = Options(
        devices=(parse_device("cuda:24GiB"),), n_ctx=8192, n_gpu_layers=20, overrides=(Override("exps", "CPU"),)
    )
    text = command(asked, "my model.gguf")
    assert text.startswith("llama-server -m 'my model.gguf' -dev CUDA0 -ngl 20 ")
    found, skipped = read_command(text)
    assert found == read_words([*words(asked)[2:], "--device", "cuda"])
    assert skipped == ["-m", "-fit"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("-c", "-c: its value N is missing"),
        ("-c many", "-c many: expected a number of tokens, 0 or more"),
        ("-c -5", "-c -5: expected a number of tokens, 0 or more"),
        ("-ub 0", "-ub 0: expected a number of tokens, 1 or more"),
        ("-np 99999999999999", "expected a number of sequences, 2147483647 at most"),
        ("-np 99999999999999999999", "expected a number of sequences, 1 or more"),
        ("-fa maybe", "expected on, off or auto"),
        ("-ctk q8", "(did you mean 'q8_0'?)"),
        ("-sm row", "needs buffers that galloscope does not model"),
        ("-ts 0,0", "proportions such as 3,1"),
        ("-ts nan", "proportions such as 3,1"),
        ("-ot exps", "PATTERN=BUFFER TYPE"),
        ("--no-op-offload=1", "takes no value"),
        ("--device cud", "did you mean 'cuda'"),
        ("-ot 'a=CPU", "look at its quotes"),
        ("-ot " + "a" * 500 + "=CPU", "patterns of at most 400 characters"),
        (" ".join(["--device cpu"] * 40), "--device: given 17 times, 16 are allowed"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(text: str, told: str) -> None:
    with pytest.raises(InputError, match=r".") as error:
        read_command(text)
    assert told in str(error.value)


def test_an_unknown_flag_of_our_own_is_named() -> None:
    with pytest.raises(InputError, match=r"--ctx-siz: no option of galloscope \(did you mean '--ctx-size'\?\)"):
        read_words(["--ctx-siz", "4"])
