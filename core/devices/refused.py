"""Which ops of a graph a device would refuse, grouped by reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..tensor import Tensor
from .profile import Profile
from .seen import seen_in, signature


@dataclass(frozen=True, slots=True)
class Refused:
    """Ops that are refused for one reason.

    Attributes:
        reason: the sentence.
        op: its first words, the op with its kind.
        nodes: their tensor ids, in the order of the graph.
    """

    reason: str
    op: str
    nodes: tuple[int, ...]


def refused(profile: Profile, tensors: Sequence[Tensor], nodes: Iterable[int]) -> list[Refused]:
    """What `supports_op` of the device says to each op, wherever its sources lie; most frequent first.

    Args:
        profile: the device.
        tensors: of the graph, by id, as they are before a scheduler.
        nodes: the ids to ask about.
    """
    answers: dict[tuple[object, ...], str] = {}
    found: dict[str, list[int]] = {}
    for node in nodes:
        key = signature(tensors, node)
        reason = answers.get(key)
        if reason is None:
            reason = answers[key] = profile.supports(seen_in(tensors, node, tensors[node].src, ()))
        if reason:
            found.setdefault(reason, []).append(node)
    groups = [Refused(reason, reason.partition(":")[0], tuple(members)) for reason, members in found.items()]
    return sorted(groups, key=lambda one: -len(one.nodes))
