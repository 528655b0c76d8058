"""The pieces that all architectures share (llm_graph_context): naming, inputs, norms, projections."""

from __future__ import annotations

from ..dtypes import DTYPES, DType
from ..ops import Context, Lazy, add, as_int32, dup, get_rows, mul, mul_mat, new_tensor, rms_norm, rope_ext, set_rows
from ..tensor import Flag
from .cparams import Cparams
from .hparams import Hparams
from .kv import AttnInput, KvCache, make_caches
from .recurrent import RsCache, RsInput
from .weights import Layer, Weights

_F32, _I32, _I64 = DTYPES["f32"], DTYPES["i32"], DTYPES["i64"]


class LlmGraph:
    """One graph under construction.

    Attributes:
        h: hyperparameters.
        c: context parameters.
        weights: of the model.
        rope_type: GGML_ROPE_TYPE_* of the architecture.
        ctx: the list of the graph.
        called: calls of the naming callback: tensor, name, layer.
        attention: FLASH_ATTN_EXT nodes with their layer (LLM_FUSED_OP_FLASH_ATTN).
        after_attention: nodes that llama.cpp pins to the CPU when the KV cache is not offloaded.
        inputs: class of each input object, in order (llm_graph_result::add_input).
    """

    def __init__(self, hparams: Hparams, cparams: Cparams, weights: Weights, rope_type: int) -> None:
        """An empty graph with its caches."""
        self.h, self.c, self.weights, self.rope_type = hparams, cparams, weights, rope_type
        self.ctx = Context()
        self.cache, self.cache_swa = make_caches(hparams, cparams)
        self.rs = RsCache(hparams, cparams)
        self.called: list[tuple[Lazy, str, int]] = []
        self.attention: list[tuple[Lazy, int]] = []
        self.after_attention: list[Lazy] = []
        self.inputs: list[str] = []
        self.embd: Lazy | None = None
        self.logits: Lazy | None = None

    def layer(self, il: int) -> Layer:
        """The weights of a layer."""
        return Layer(self.weights, il)

    def cb(self, cur: Lazy, name: str, il: int = -1) -> Lazy:
        """llama_context::graph_get_cb: `name-il`, or `name`."""
        self.called.append((cur, name, il))
        return cur.set_name(f"{name}-{il}" if il >= 0 else name)

    def input(self, name: str, dtype: DType, *ne: int) -> Lazy:
        """A leaf that llama.cpp fills before each run."""
        tensor = new_tensor(dtype, *ne).set_name(name)
        tensor.flags |= Flag.INPUT
        return tensor

    def inp_embd(self, scaled: bool = False) -> Lazy:
        """build_inp_embd: the embeddings of the tokens, if `scaled` times a factor per token (b11549; 1 for images).

        Three branches, of which only one is computed: tokens, embeddings given as such, and (since b11549) both mixed
        in one batch: the tokens' embeddings written over a copy of the given ones.
        """
        n_embd, n_tokens, shape = self.h.n_embd, self.c.n_tokens, self.c.shape
        table = self.weights.token_embd
        tokens = get_rows(table, self.input("inp_tokens", _I32, n_tokens))
        given = self.input("inp_embd", _F32, n_embd, n_tokens)
        mixed_tokens = get_rows(table, self.input("inp_mixed_tokens", _I32, n_tokens))
        copy = dup(self.input("inp_mixed_embd", _F32, n_embd, n_tokens))
        mixed = set_rows(copy, mixed_tokens, self.input("inp_mixed_slots", _I64, n_tokens))
        chosen = 0 if not shape.embd else 3 if shape.token else 2
        cur = self.ctx.select([tokens, mixed_tokens, given, mixed], chosen)
        if scaled:
            cur = mul(cur, self.input("inp_scale_rows", _F32, 1, n_tokens))
        cur = self.cb(cur, "embd")
        self.inputs.append("llm_graph_input_embd")
        self.ctx.expand(cur)
        return cur

    def inp_pos(self) -> Lazy:
        """build_inp_pos."""
        self.inputs.append("llm_graph_input_pos")
        return self.cb(self.input("inp_pos", _I32, self.c.n_tokens), "inp_pos")

    def inp_out_ids(self) -> Lazy:
        """build_inp_out_ids: the tokens whose results are wanted."""
        self.inputs.append("llm_graph_input_out_ids")
        return self.input("out_ids", _I32, self.c.n_outputs)

    def inp_attn(self) -> tuple[AttnInput, AttnInput | None]:
        """build_attn_inp_kv, or _iswa: the inputs of attention over all cells and over the window."""
        self.inputs.append("llm_graph_input_attn_kv_iswa" if self.cache_swa else "llm_graph_input_attn_kv")
        return self.cache.inputs(), self.cache_swa.inputs() if self.cache_swa else None

    def inp_rs(self) -> RsInput:
        """build_rs_inp: the states of the sequences."""
        self.inputs.append("llm_graph_input_rs")
        return self.rs.inputs()

    @property
    def n_expert_used(self) -> int:
        """Experts that compute each token: all of them to warm up."""
        return self.h.n_expert if self.c.shape.warmup else self.h.n_expert_used

    def cache_of(self, il: int) -> KvCache:
        """The cache that holds a layer."""
        return self.cache_swa if self.cache_swa and self.h.is_swa[il] else self.cache

    def mm(self, weight: Lazy, cur: Lazy, scale: Lazy | None = None) -> Lazy:
        """build_lora_mm without adapters."""
        cur = mul_mat(weight, cur)
        return mul(cur, scale) if scale is not None else cur

    def norm(self, cur: Lazy, weight: Lazy, il: int) -> Lazy:
        """build_norm, LLM_NORM_RMS."""
        return mul(self.cb(rms_norm(cur, self.h.rms_eps), "norm", il), weight)

    def rope(self, cur: Lazy, pos: Lazy, factors: Lazy | None = None, il: int = -1, inplace: bool = False) -> Lazy:
        """ggml_rope_ext with the context's parameters; of layer il, windowed layers have their own (gemma3)."""
        base, scale = self.c.rope_freq_base, self.c.rope_freq_scale
        if il >= 0 and self.h.is_swa[il]:
            base, scale = self.h.rope_freq_base_swa, 1.0
        return rope_ext(
            cur, pos, factors, self.h.n_rot, self.rope_type, as_int32(self.c.n_ctx_orig_yarn), base, scale,
            self.c.yarn_ext_factor, self.c.yarn_attn_factor, BETA_FAST, BETA_SLOW, inplace,
        )  # fmt: skip

    def rope_factors(self, layer: Layer) -> Lazy | None:
        """llama_model::get_rope_factors: one set, or a long and a short one chosen by the context."""
        freqs = layer.shared("rope_freqs")
        if freqs is not None:
            return freqs
        long = self.c.n_ctx_seq > self.h.n_ctx_orig_yarn
        return layer.shared("rope_factors_long" if long else "rope_factors_short")

    def only_outputs(self, il: int, out_ids: Lazy, *tensors: Lazy) -> tuple[Lazy, ...]:
        """In the last layer, only the rows whose logits are wanted."""
        if il != self.h.n_layer - 1:
            return tensors
        return tuple(get_rows(tensor, out_ids) for tensor in tensors)

    def head(self, cur: Lazy, bias: Lazy | None = None) -> Lazy:
        """The output norm and matrix, without the last name: see `finish`."""
        cur = self.norm(cur, self.weights.output_norm, -1)
        self.cb(cur, "result_norm").flags |= Flag.OUTPUT
        self.embd = cur
        cur = self.mm(self.weights.output, cur, self.weights.get("output.scale", self.h.n_layer))
        return cur if bias is None else add(cur, bias)

    def finish(self, logits: Lazy) -> None:
        """Name and expand the logits."""
        self.cb(logits, "result_output").flags |= Flag.OUTPUT
        self.logits = logits
        self.ctx.expand(logits)


BETA_FAST, BETA_SLOW = 32.0, 1.0
"""yarn_beta_fast, yarn_beta_slow of llama_hparams; no key changes them in these architectures."""
