"""Events of the compute loop: what the devices are told, in order. Part of the `Event` union of `core/events.py`."""

from __future__ import annotations

from .decision import Decision


class Sync(Decision):
    """ggml_backend_synchronize of a backend that queues."""

    backend: int


class EventSync(Decision):
    """ggml_backend_event_synchronize."""

    backend: int
    copy_no: int


class EventWait(Decision):
    """ggml_backend_event_wait: `backend` waits for the event of `owner`."""

    backend: int
    owner: int
    copy_no: int


class EventRecord(Decision):
    """ggml_backend_event_record."""

    backend: int
    copy_no: int


class Transfer(Decision):
    """Blocking write ("set") to or read ("get") from a tensor by the host."""

    what: str
    tensor: int
    offset: int
    size: int


class AsyncTransfer(Decision):
    """Queued write ("set_async") or read ("get_async")."""

    what: str
    backend: int
    tensor: int
    offset: int
    size: int


class CopyAsync(Decision):
    """cpy_tensor_async of the destination backend; refused when ok is false."""

    src_backend: int
    backend: int
    src: int
    tensor: int
    ok: bool


class CallCopy(Decision):
    """The copy callback is asked (logging modes only)."""

    backend: int
    src: int
    tensor: int
    first_node: int
    n_nodes: int


class CopyCalled(Decision):
    """Its answer: true means it did the copy itself."""

    done: bool


class Launch(Decision):
    """graph_compute of a split."""

    backend: int
    n_nodes: int
    first: int
    last: int
