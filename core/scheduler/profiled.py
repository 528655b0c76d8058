"""A backend that follows a device profile: its answers, worked out once per kind of op."""

from __future__ import annotations

from collections.abc import Sequence

from ..devices.profile import anything
from ..devices.seen import seen_in, signature
from ..graph import Backend, BufferType
from ..tensor import Tensor


class Profiled:
    """The layers of a model ask the same questions: answers are kept by all that a rule can look at."""

    def __init__(self, backend: Backend, bufts: Sequence[BufferType], tensors: Sequence[Tensor]) -> None:
        """Nothing is asked yet; `tensors` are those of one run, by id."""
        self.name = backend.name
        self.profile = backend.device
        default = bufts[backend.buft]  # the CPU may compute in another device's pinned memory
        self.own = default.name if default.profile == backend.profile else self.profile.buft_of(backend.name)
        self.tensors = tensors
        self.lies = [(buft.name, buft.profile, buft.host) for buft in bufts]
        self.foreign = self.profile.own_sources and any(
            maker == backend.profile and name != self.own for name, maker, _ in self.lies
        )
        self.reasons: dict[tuple[object, ...], str] = {}

    def why_unsupported(self, tensor: int) -> str:
        """The sentence when the profile refuses the op, else ""."""
        op = self.tensors[tensor].op
        profile = self.profile
        if not self.foreign and profile.first is anything and profile.rules.get(op, profile.other) is anything:
            return ""
        key = signature(self.tensors, tensor)
        reason = self.reasons.get(key)
        if reason is None:
            seen = seen_in(self.tensors, tensor, self.tensors[tensor].src, self.lies)
            reason = self.reasons[key] = profile.supports(seen, self.own)
        return f"{self.name} refuses {reason}" if reason else ""

    def why_not_offloaded(self, tensor: int) -> str:
        """The sentence when the profile does not take the op over from the CPU, else ""."""
        seen = seen_in(self.tensors, tensor, self.tensors[tensor].src, self.lies)
        reason = self.profile.offload(seen)
        return f"{self.name} does not take over {reason}" if reason else ""
