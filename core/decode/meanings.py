"""What each condition of graph re-use compares, and what it means that it fails."""

from __future__ import annotations

from typing import NamedTuple

from .events import Check
from .reuse import PARAMS, PREFIX


class Meaning(NamedTuple):
    """A condition in words.

    Attributes:
        what: the thing that is compared, to follow "because".
        so: what it means when the values differ, a whole sentence.
    """

    what: str
    so: str


_PARAMS = {
    "equal_seqs": Meaning(
        "the kind of split",
        "Tokens of an equal split are ordered by sequence, those of a simple split are not: the graphs differ.",
    ),
    "n_tokens": Meaning(
        "the number of tokens", "It is a dimension of nearly every tensor, so each other number is another graph."
    ),
    "n_seq_tokens": Meaning("the tokens of each sequence", "Tensors are shaped as tokens by sequences."),
    "n_seqs": Meaning(
        "n_seqs",
        "Of an equal split it is the number of sequences; a simple split counts every token as one.",
    ),
    "n_seqs_unq": Meaning("the number of different sequences", "Attention takes a mask, or a KV stream, for each."),
    "input": Meaning(
        "the kind of input", "Token ids are looked up in the embedding matrix, embeddings are taken as they are."
    ),
    "seq_id_unq": Meaning(
        "the ids of the sequences",
        "With an equal split the graph's views point at the memory of these very sequences, in this order.",
    ),
    "n_outputs": Meaning(
        "the number of outputs",
        "Only rows with an output go through the last layer and the output matrix, and their number is a dimension "
        "there. Which tokens they are does not matter.",
    ),
    "samplers": Meaning("the samplers in the graph", "A sampler's ops are nodes of the graph."),
    "output": Meaning("which tokens are outputs", "With samplers in the graph each output row belongs to its sampler."),
    "seq_id": Meaning(
        "the sequence of each token", "With samplers in the graph each row goes to the sampler of its sequence."
    ),
    "embeddings": Meaning("llama_set_embeddings", "Results are embeddings or logits: the end of the graph differs."),
    "causal_attn": Meaning("llama_set_causal_attn", "llama.cpp counts it as part of the graph."),
}
_RECURRENT = {
    "s_copy": Meaning(
        "the number of recurrent states that take part", "The input that says which states are copied has another size."
    ),
    "s_copy_main": Meaning("the number of sequences with a state", "The part of the states that are computed differs."),
    "s_copy_extra": Meaning("the states that only move", "The part of the states that are only moved differs."),
    "head": Meaning("the first recurrent state", "The graph's views begin at this state's bytes."),
    "rs_z": Meaning(
        "the state that is zeroed",
        "A new sequence starts from zeros, written by a node of the graph; its second token needs no such node, so "
        "each new sequence costs two rebuilds.",
    ),
}
_ATTENTION = {
    "ne0": Meaning(
        "n_kv (the cells that attention sees)",
        "It is the highest used cell + 1, rounded up to 256, so it steps as the context grows; K, V and the mask are "
        "views of that many cells.",
    ),
    "ne1": Meaning("the rows of the attention mask", "They are the tokens of each KV stream."),
    "ne3": Meaning("the KV streams that take part", "Attention runs over each stream by itself."),
}
_NEVER = Meaning(
    "this kind of input", "Its class has no test of its own, and llama.cpp's default answer is no: it is never re-used."
)
_OTHER = Meaning("this condition", "The graph depends on it.")


def meaning(check: Check) -> Meaning:
    """Of one condition; an unknown one says so little that it cannot be wrong."""
    if check.group == PARAMS:
        return _PARAMS.get(check.name, _OTHER)
    if check.name == "can_reuse":
        return _NEVER
    name, _, part = check.name.partition(".")
    if name.startswith("kq_mask"):
        found = _ATTENTION.get(part, _OTHER)
        return found._replace(what=f"{found.what} in the window layers") if name.endswith("_swa") else found
    if name in _RECURRENT:
        return _RECURRENT[name]
    if name in ("tokens", "embd", "pos", "k_idxs", "k_idxs_swa"):
        return _PARAMS["n_tokens"]
    return _PARAMS.get(name, _OTHER)


CLASSES = {
    "embd": "token ids or embeddings",
    "pos": "positions",
    "out_ids": "which rows are outputs",
    "attn_kv": "KV cache: cells to write and the mask",
    "attn_k": "K-only cache (MLA): cells to write and the mask",
    "attn_kv_iswa": "KV caches of full and of window layers",
    "attn_k_iswa": "K-only caches of full and of window layers",
    "rs": "recurrent states",
    "mem_hybrid": "KV cache and recurrent states",
    "mem_hybrid_k": "K-only cache and recurrent states",
    "mem_hybrid_iswa": "KV caches of full and of window layers, and recurrent states",
    "sampling": "samplers that run in the graph",
    "mean": "mean pooling",
    "cls": "pooling of the first or last token",
    "attn_no_cache": "attention without a cache",
}
"""Class of an input, without its prefix, in words."""


def class_words(group: str) -> str:
    """Of a check's group.

    >>> class_words("llm_graph_input_pos"), class_words("params")
    ('positions', 'parameters of the graph')
    """
    if group == PARAMS:
        return "parameters of the graph"
    name = group.removeprefix(PREFIX)
    return CLASSES.get(name, name)
