"""Events of the compute loop: what the devices are told, in order. Part of the `Event` union of `core/events.py`."""

from __future__ import annotations

from .decision import Decision


class Sync(Decision, frozen=True):
    """ggml_backend_synchronize of a backend that queues."""

    backend: int


class EventSync(Decision, frozen=True):
    """ggml_backend_event_synchronize."""

    backend: int
    copy_no: int


class EventWait(Decision, frozen=True):
    """ggml_backend_event_wait: `backend` waits for the event of `owner`."""

    backend: int
    owner: int
    copy_no: int


class EventRecord(Decision, frozen=True):
    """ggml_backend_event_record."""

    backend: int
    copy_no: int


class Transfer(Decision, frozen=True):
    """Blocking write ("set") to or read ("get") from a tensor by the host."""

    what: str
    tensor: int
    offset: int
    size: int


class AsyncTransfer(Decision, frozen=True):
    """Queued write ("set_async") or read ("get_async")."""

    what: str
    backend: int
    tensor: int
    offset: int
    size: int


class CopyAsync(Decision, frozen=True):
    """cpy_tensor_async of the destination backend; refused when ok is false."""

    src_backend: int
    backend: int
    src: int
    tensor: int
    ok: bool


class CallCopy(Decision, frozen=True):
    """The copy callback is asked (logging modes only)."""

    backend: int
    src: int
    tensor: int
    first_node: int
    n_nodes: int


class CopyCalled(Decision, frozen=True):
    """Its answer: true means it did the copy itself."""

    done: bool


class Launch(Decision, frozen=True):
    """graph_compute of a split."""

    backend: int
    n_nodes: int
    first: int
    last: int
