"""The kernels of the real ggml-cpu as an oracle of single ops, in a child process that survives no assert.

One process answers many questions; after an assert the next question starts another one.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

import msgspec
import numpy as np
import numpy.typing as npt

from galloscope.core.dtypes import DType
from galloscope.core.native.messages import LENGTH
from galloscope.core.native.parent import crash_text
from galloscope.core.op import Op
from galloscope.core.tensor import Tensor
from galloscope.tests.core.backends.ggml_oracle_child import Answer, Bytes, Cannot, Compute, Convert, Done, Question

Data = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

OPS = list(Op)
CHILD = Path(__file__).with_name("ggml_oracle_child.py")


class Asserted(Exception):
    """ggml stopped at this question, or has no function for it; the message says how."""


class Oracle:
    """The real ggml; a context manager. Nothing is started before the first question."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None

    def compute(self, node: Tensor, sources: Sequence[tuple[Tensor, Data] | None], before: Data | None = None) -> Data:
        """The bytes of a node after ggml_graph_compute with one thread, from its first to its last element.

        Args:
            node: op, op_params, type, shape and strides; nothing else of it is looked at.
            sources: by slot, each with its `nbytes` bytes, gaps between strided rows included.
            before: what lies at the node's place (zeros otherwise): gaps and unwritten rows keep it.

        Raises:
            Asserted: with ggml's words.
        """
        given = np.zeros(node.nbytes, np.uint8) if before is None else before
        question = Compute(
            OPS.index(node.op),
            node.op_params,
            _bytes(node, given),
            [None if one is None else _bytes(*one) for one in sources],
        )
        return np.frombuffer(self._ask(question), np.uint8)

    def to_float(self, dtype: DType, data: Data) -> Floats:
        """ggml_type_traits.to_float of whole blocks; the last axis is bytes.

        Raises:
            Asserted: the type has no such function.
        """
        row = data.shape[-1] // dtype.size * dtype.block
        answer = self._ask(Convert("to_float", dtype.id, row, data.tobytes()))
        return np.frombuffer(answer, np.float32).reshape(*data.shape[:-1], row)

    def from_float(self, dtype: DType, values: Floats) -> Data:
        """ggml_type_traits_cpu.from_float, which CPY, SET_ROWS and the activations of MUL_MAT go through.

        Raises:
            Asserted: the type has no such function.
        """
        return self._from_float("from_float", dtype, values)

    def quantize(self, dtype: DType, values: Floats) -> Data:
        """ggml_quantize_chunk, which makes the weights in a file; every importance is 1 where a type asks for them."""
        return self._from_float("quantize", dtype, values)

    def _from_float(self, how: str, dtype: DType, values: Floats) -> Data:
        row = values.shape[-1]
        answer = self._ask(Convert(how, dtype.id, row, values.astype(np.float32).tobytes()))
        return np.frombuffer(answer, np.uint8).reshape(*values.shape[:-1], row // dtype.block * dtype.size)

    def _ask(self, question: Question) -> bytes:
        child = self._started()
        assert child.stdin is not None
        assert child.stdout is not None
        data = msgspec.msgpack.encode(question)
        child.stdin.write(LENGTH.pack(len(data)) + data)
        child.stdin.flush()
        head = child.stdout.read(LENGTH.size)
        if not head:
            raise Asserted(self._last_words())
        answer: Answer = msgspec.msgpack.decode(child.stdout.read(LENGTH.unpack(head)[0]), type=Answer)
        if isinstance(answer, Cannot):
            raise Asserted(answer.text)
        assert isinstance(answer, Done)
        return answer.data

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the child)
            self._child = subprocess.Popen(
                [sys.executable, str(CHILD)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={"GGML_NO_BACKTRACE": "1", "OMP_NUM_THREADS": "1"},
            )
        return self._child

    def _last_words(self) -> str:
        assert self._child is not None
        assert self._errors is not None
        code = self._child.wait()
        self._errors.seek(0)
        said = self._errors.read().decode("utf-8", "replace")
        self.close()
        return crash_text(code, said)

    def close(self) -> None:
        """End the child."""
        if self._child is not None and self._errors is not None:
            self._child.kill()
            self._child.communicate()
            self._errors.close()
        self._child = self._errors = None

    def __enter__(self) -> "Oracle":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _bytes(tensor: Tensor, data: Data) -> Bytes:
    if data.size != tensor.nbytes:
        raise ValueError(f"{tensor.name}: {data.size} bytes are given, {tensor.nbytes} expected")
    return Bytes(tensor.dtype.id, tensor.ne, tensor.nb, data.tobytes())
