"""The buffer of results on the host (llama_context::output_reserve): when it grows, the devices are waited for."""

from __future__ import annotations

from .process_end import ProcessEnd
from .setup import Setup
from .ubatch import Ubatch

FLOAT = TOKEN = 4
"""Bytes of a logit and of a token id."""
POOLED = (1, 2, 3, 4)
"""Pooling types that give one embedding per sequence: mean, cls, last, rank."""


class Outputs:
    """How large the buffer is, and whether pooled embeddings wait to be read.

    Attributes:
        size: bytes; it only grows.
        pooled: the batch before left pooled embeddings.
    """

    def __init__(self, setup: Setup) -> None:
        """As the constructor of the context leaves it: one output for each sequence.

        Raises:
            ProcessEnd: there are more sequences than outputs.
        """
        self._setup = setup
        self.size = 0
        self.pooled = False
        self.grow(setup.options.n_seq_max, setup.embeddings, False)

    def grow(self, n_outputs: int, embeddings: bool, samplers: bool) -> bool:
        """Make room for the outputs of a batch; whether a smaller buffer was there, so that it grew.

        Raises:
            ProcessEnd: more than n_outputs_max.
        """
        setup = self._setup
        rows = max(n_outputs, setup.options.n_seq_max)
        floats = setup.n_vocab + (setup.n_embd_out if embeddings else 0) + (2 * setup.n_vocab if samplers else 0)
        size = rows * (floats * FLOAT + ((1 + setup.n_vocab) * TOKEN if samplers else 0))
        grew = 0 < self.size < size
        self.size = max(self.size, size)
        if rows > setup.n_outputs_max:
            raise ProcessEnd("GGML_ASSERT(n_outputs_max <= cparams.n_outputs_max) failed")
        return grew

    def computed(self, ubatch: Ubatch, embeddings: bool) -> None:
        """A micro-batch was computed."""
        self.pooled = self.pooled or (embeddings and ubatch.n_outputs > 0 and self._setup.pooling in POOLED)
