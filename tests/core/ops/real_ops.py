"""The constructors of the real ggml, asked in a child process that forks for each question: an assert ends the fork.

A question is a list of steps; a step is ``[function, arguments]``. Tensor arguments are the numbers of earlier steps.
The answer has one entry per step: the fields of its tensor, or a last entry with what ggml said when it asserted.
"""

import ctypes as C
import json
import os
import subprocess
import sys
from types import TracebackType
from typing import Any

from galloscope.benchmarks import ggml_abi as abi
from galloscope.core.op import Op

Step = list[Any]
Fields = dict[str, Any]

KINDS = {"t": abi.PTR, "o": abi.PTR, "i": abi.I32, "l": abi.I64, "z": abi.SIZE, "f": C.c_float, "b": C.c_bool}
"""Letters of a signature: tensor, tensor or none, int, int64_t, size_t, float, bool."""

SIGNATURES = {
    "new_tensor_4d": "illll",
    "dup": "t",
    "add": "tt",
    "sub": "tt",
    "mul": "tt",
    "div": "tt",
    "add_id": "ttt",
    "sqr": "t",
    "sqrt": "t",
    "scale": "tf",
    "scale_inplace": "tf",
    "scale_bias": "tff",
    "clamp": "tff",
    "fill": "tf",
    "leaky_relu": "tfb",
    "norm": "tf",
    "rms_norm": "tf",
    "l2_norm": "tf",
    "group_norm": "tif",
    "sum_rows": "t",
    "mean": "t",
    "cumsum": "t",
    "unary": "ti",
    "unary_inplace": "ti",
    "glu": "tib",
    "glu_split": "tti",
    "swiglu_oai": "ttff",
    "mul_mat": "tt",
    "mul_mat_id": "ttt",
    "out_prod": "tt",
    "get_rows": "tt",
    "set_rows": "ttt",
    "argsort": "ti",
    "argsort_top_k": "ti",
    "top_k": "ti",
    "view_1d": "tlz",
    "view_2d": "tllzz",
    "view_3d": "tlllzzz",
    "view_4d": "tllllzzzz",
    "reshape_1d": "tl",
    "reshape_2d": "tll",
    "reshape_3d": "tlll",
    "reshape_4d": "tllll",
    "permute": "tiiii",
    "transpose": "t",
    "cont": "t",
    "cont_2d": "tll",
    "cont_4d": "tllll",
    "cpy": "tt",
    "cast": "ti",
    "repeat": "tt",
    "repeat_4d": "tllll",
    "concat": "tti",
    "pad": "tiiii",
    "soft_max": "t",
    "soft_max_ext": "toff",
    "rope_ext": "ttoiiiffffff",
    "flash_attn_ext": "tttofff",
    # These change a tensor that is there; the answer shows it again.
    "soft_max_add_sinks": "-tt",
    "flash_attn_ext_add_sinks": "-tt",
    "flash_attn_ext_set_n_kv_max": "-ti",
    "prec_set_acc": "-ti",
    "mul_mat_set_hint": "-ti",
}
"""``ggml_NAME(context, ...)``; with a minus there is no context and the first argument is what is shown."""

ROOM = 1 << 20
"""Bytes for the tensors of one question: some 2,800."""

OPS = list(Op)


def _arguments(signature: str, given: list[Any], tensors: list[int]) -> list[Any]:
    """The C values; a tensor stands as the number of its step."""
    values = []
    for letter, value in zip(signature, given, strict=True):
        is_tensor = letter in "to"
        values.append(KINDS[letter](tensors[value] if is_tensor and value is not None else value))
    return values


def _fields(pointer: int, tensors: list[int], n_ops: list[str]) -> Fields:
    tensor = abi.Tensor.from_address(pointer)
    number = {address: i for i, address in reversed(list(enumerate(tensors)))}
    words = list(tensor.op_params)
    while words and not words[-1]:
        words.pop()
    src = [number.get(source, -2) if source else -1 for source in tensor.src]
    while src and src[-1] == -1:
        src.pop()
    return {
        "name": tensor.name.decode(),
        "type": tensor.type,
        "ne": list(tensor.ne),
        "nb": list(tensor.nb),
        "op": n_ops[tensor.op],
        "op_params": words,
        "flags": tensor.flags,
        "src": src,
        "view_src": number.get(tensor.view_src, -2) if tensor.view_src else -1,
        "view_offs": tensor.view_offs,
    }


def _run(steps: list[Step], write: int) -> None:
    """Run the steps and write a line for each; an assert ends this process on the way."""
    library = abi.load()
    library.ggml_set_name.argtypes = (abi.PTR, C.c_char_p)
    context = library.ggml_init(abi.InitParams(ROOM, None, True))
    names = [library.ggml_op_name(i).decode() for i in range(len(OPS))]
    tensors: list[int] = []
    for function, arguments in steps:
        if function == "set_name":
            pointer = tensors[arguments[0]]
            library.ggml_set_name(pointer, arguments[1].encode())
        else:
            signature = SIGNATURES[function]
            call = getattr(library, f"ggml_{function}")
            if signature.startswith("-"):
                call.restype = None
                call(*_arguments(signature[1:], arguments, tensors))
                pointer = tensors[arguments[0]]
            else:
                call.restype = abi.PTR
                pointer = call(abi.PTR(context), *_arguments(signature, arguments, tensors))
        tensors.append(pointer)
        os.write(write, json.dumps(_fields(pointer, tensors, names)).encode() + b"\n")


def _answer(steps: list[Step]) -> list[Fields]:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            _run(steps, write)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        lines = pipe.read().splitlines()
    os.waitpid(child, 0)
    return [json.loads(line) for line in lines]


class RealOps:
    """The real constructors; a context manager."""

    def __enter__(self) -> "RealOps":
        self._child = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._child.kill()
        self._child.communicate()

    def ask(self, steps: list[Step]) -> list[Fields]:
        """The tensor of each step; fewer answers than steps: ggml asserted in the next one."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps(steps) + "\n")
        self._child.stdin.flush()
        answer: list[Fields] = json.loads(self._child.stdout.readline())
        return answer


if __name__ == "__main__":
    abi.load()
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)
