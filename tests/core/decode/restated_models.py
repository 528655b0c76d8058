"""The few facts of each model that the restatement needs, written down by hand."""

from __future__ import annotations

from galloscope.tests.core.decode.restated import Facts

ATTENTION = ("llm_graph_input_embd", "llm_graph_input_pos", "llm_graph_input_attn_kv", "llm_graph_input_out_ids")
WINDOW = ("llm_graph_input_embd", "llm_graph_input_pos", "llm_graph_input_attn_kv_iswa", "llm_graph_input_out_ids")
RECURRENT = ("llm_graph_input_embd", "llm_graph_input_rs", "llm_graph_input_out_ids")
HYBRID = ("llm_graph_input_embd", "llm_graph_input_mem_hybrid", "llm_graph_input_pos", "llm_graph_input_out_ids")
K_ONLY = ("llm_graph_input_embd", "llm_graph_input_pos", "llm_graph_input_attn_k", "llm_graph_input_out_ids")

MODELS = {
    "deepseek2.gguf": Facts(K_ONLY, 3),
    "gemma3.gguf": Facts(WINDOW, 3, n_swa=32),
    "gptoss.gguf": Facts(WINDOW, 2, n_swa=32),
    "llama_4l.gguf": Facts(ATTENTION, 4),
    "mamba.gguf": Facts(RECURRENT, 2),
    "qwen3next.gguf": Facts(HYBRID, 2),
    "qwen3moe.gguf": Facts(ATTENTION, 2),
}


def facts_of(model: str) -> Facts:
    """Of a model by its file name; the others are like llama.gguf."""
    return MODELS.get(model, Facts(ATTENTION, 2))
