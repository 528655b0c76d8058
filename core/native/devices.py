"""Our device profiles as live ggml devices: llama.cpp asks them what it would ask a real one.

Nothing is ever computed on them and their memory is never touched: buffers have made-up addresses.
"""

from __future__ import annotations

import ctypes as C
import zlib
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from ..devices.profile import Profile
from . import layouts as abi
from .asking import Asking

FIRST_ADDRESS = 1 << 44
"""Far from everything that a process maps."""
ADDRESS_STEP = 1 << 42


class Devices:
    """The devices of one capture, with everything that llama.cpp keeps pointers to.

    Attributes:
        names: llama.cpp's name of each, in priority order.
        pointers: their ggml_backend_dev_t.
        asking: what answers for them.
        allocated: (buffer type, bytes) of each buffer that was given out, in order.
        place: gives the address of the next buffers of so many bytes; None for addresses without memory.
    """

    def __init__(
        self,
        library: C.CDLL,
        profiles: list[Profile],
        names: list[str],
        cpu: Profile,
        asking: Asking,
        *,
        limits: Mapping[str, int] | None = None,
    ) -> None:
        """Make and register them, in priority order.

        Args:
            library: the loaded llama.cpp.
            profiles: of each device but the CPU.
            names: what llama.cpp calls each.
            cpu: the CPU's; the real CPU takes over its memory, and its limits where they were overridden.
            asking: what answers them.
            limits: by name of a buffer type, the bytes of its largest buffer that can be made.
        """
        self.library, self.asking = library, asking
        self.names = names
        self._limits = limits or {}
        self.allocated: list[tuple[str, int]] = []
        self.place: Callable[[int], int] | None = None
        self._keep: list[object] = []
        self._addresses = count(FIRST_ADDRESS, ADDRESS_STEP)
        self._bases: dict[int, int] = {}
        self._hosts: dict[str, abi.BufferType] = {}
        self._interface = self._buffer_interface()
        self._adapt_cpu(cpu)
        self.pointers = [self._device(profile, name) for profile, name in zip(profiles, names, strict=True)]
        for pointer in self.pointers:
            library.ggml_backend_device_register(pointer)

    def _adapt_cpu(self, profile: Profile) -> None:
        """The real CPU, which gives out no memory: states and outputs of many sequences would be gigabytes."""
        library = self.library
        device = abi.Device.from_address(library.ggml_backend_dev_by_type(abi.DEVICE_TYPES["cpu"]))
        device.memory = self._memory(profile)
        buft = abi.BufferType.from_address(library.ggml_backend_cpu_buffer_type())
        buft.alloc = self._function(abi.PTR, (abi.PTR, abi.SIZE), self._new_buffer)
        if profile.changed:
            self._set_sizes(buft, profile)

    # small functions for the structs

    def _function(self, result: Any, arguments: tuple[Any, ...], function: Callable[..., Any]) -> int:
        made = C.CFUNCTYPE(result, *arguments)(self.asking.guarded(function, result))
        self._keep.append(made)
        return C.cast(made, abi.PTR).value or 0

    def _always(self, result: Any, value: Any, n_arguments: int = 1) -> int:
        return self._function(result, (abi.PTR,) * n_arguments, lambda *_: value)

    def _text(self, text: str) -> int:
        string = C.create_string_buffer(text.encode())
        self._keep.append(string)
        return self._always(abi.PTR, C.addressof(string))

    # buffers

    def _buffer_interface(self) -> abi.BufferInterface:
        return abi.BufferInterface(
            free=self._function(None, (abi.PTR,), lambda buffer: self._bases.pop(buffer, None)),
            base=self._function(abi.PTR, (abi.PTR,), lambda buffer: self._bases.get(buffer, FIRST_ADDRESS)),
            init_tensor=self._always(abi.I32, 0, 2),
            memset=self._function(None, (abi.PTR, abi.PTR, C.c_uint8, abi.SIZE, abi.SIZE), lambda *_: None),
            set=self._function(None, (abi.PTR, abi.PTR, abi.PTR, abi.SIZE, abi.SIZE), lambda *_: None),
            get=self._function(None, (abi.PTR, abi.PTR, abi.PTR, abi.SIZE, abi.SIZE), lambda *_: None),
            clear=self._function(None, (abi.PTR, C.c_uint8), lambda *_: None),
        )

    def _new_buffer(self, buft: int, size: int) -> int | None:
        limit = self._limits.get(self.asking.lies(buft).name)
        if limit is not None and size > limit:
            return None
        buffer = int(self.library.ggml_backend_buffer_init(buft, self._interface, None, size))
        self._bases[buffer] = next(self._addresses) if self.place is None else self.place(size)
        self.allocated.append((self.asking.lies(buft).name, size))
        return buffer

    def _own_type(self, profile: Profile, name: str) -> int:
        """Its default buffer type; one that a profile names after the CPU's is the CPU's own."""
        library = self.library
        buft = profile.buft_of(name)
        if buft == "CPU":
            return int(library.ggml_backend_cpu_buffer_type())
        made = abi.BufferType(
            name=self._text(buft),
            alloc=self._function(abi.PTR, (abi.PTR, abi.SIZE), self._new_buffer),
            is_host=self._always(abi.BOOL, profile.host),
        )
        self._set_sizes(made, profile)
        self._keep.append(made)
        self.asking.know(C.addressof(made), buft, profile.name, profile.host)
        return C.addressof(made)

    def _set_sizes(self, buft: abi.BufferType, profile: Profile) -> None:
        """Alignment, largest buffer, and bytes of a tensor."""
        asking = self.asking
        buft.alignment = self._always(abi.SIZE, profile.align)
        buft.max_size = None if profile.max_size is None else self._always(abi.SIZE, profile.max_size)
        buft.alloc_size = self._function(
            abi.SIZE, (abi.PTR, abi.PTR), lambda _, tensor: asking.alloc_size(profile, tensor)
        )

    def _host_type(self, profile: Profile) -> abi.BufferType:
        """Its pinned host buffer type, CPU memory under another name; all devices of a kind share the first one's."""
        name = profile.host_buft
        if name not in self._hosts:
            made = abi.BufferType(
                name=self._text(name),
                alloc=self._function(abi.PTR, (abi.PTR, abi.SIZE), self._new_buffer),
                alignment=self._always(abi.SIZE, 32),
                is_host=self._always(abi.BOOL, True),
            )
            self._hosts[name] = made
            self.asking.know(C.addressof(made), name, "", True)
        return self._hosts[name]

    # devices

    def _device(self, profile: Profile, name: str) -> int:
        asking, kind = self.asking, abi.DEVICE_TYPES[profile.type]
        text, title = name.encode(), profile.title.encode()
        device = abi.Device(
            name=self._text(name), description=self._text(profile.title), type=self._always(abi.I32, kind)
        )
        pointer = C.addressof(device)
        own = self._own_type(profile, name)
        host = self._host_type(profile) if profile.host_buft else None
        if host is not None and not host.device:
            host.device = pointer
        if own != self.library.ggml_backend_cpu_buffer_type():
            abi.BufferType.from_address(own).device = pointer

        def props(_: int, address: int) -> None:
            found = abi.DeviceProps.from_address(address)
            found.name, found.description, found.type, found.device_id = text, title, kind, None
            found.memory_free = found.memory_total = profile.memory
            found.is_async, found.events, found.host_buffer = profile.is_async, profile.has_events, host is not None
            found.buffer_from_host_ptr, found.mmap_support = False, True

        readable: dict[int, bool] = {}

        def supports_buft(_: int, buft: int) -> bool:
            answer = readable.get(buft)
            if answer is None:
                lies = asking.lies(buft)
                answer = readable[buft] = profile.supports_buft(name, lies.name, lies.host)
            return answer

        device.memory = self._memory(profile)
        device.props = self._function(None, (abi.PTR,) * 2, props)
        device.init_backend = self._function(abi.PTR, (abi.PTR,) * 2, lambda *_: self._backend(profile, name, pointer))
        device.buffer_type = self._always(abi.PTR, own)
        device.supports_op = self._function(
            abi.BOOL, (abi.PTR,) * 2, lambda _, tensor: asking.supports(profile, name, tensor)
        )
        device.supports_buft = self._function(abi.BOOL, (abi.PTR,) * 2, supports_buft)
        if host is not None:
            device.host_buffer_type = self._always(abi.PTR, C.addressof(host))
        if profile.takes is not None:
            device.offload_op = self._function(
                abi.BOOL, (abi.PTR,) * 2, lambda _, tensor: asking.offloads(profile, tensor)
            )
        if profile.has_events:
            event = (abi.PTR * 2)(pointer, None)
            self._keep.append(event)
            device.event_new = self._always(abi.PTR, C.addressof(event))
            device.event_free = device.event_synchronize = self._always(None, None, 2)
        device.reg = C.addressof(self._registry(name, pointer))
        self._keep += [device, text, title]
        return pointer

    def _memory(self, profile: Profile) -> int:
        def memory(_: int, free: int, total: int) -> None:
            abi.SIZE.from_address(free).value = abi.SIZE.from_address(total).value = profile.memory

        return self._function(None, (abi.PTR,) * 3, memory)

    def _registry(self, name: str, device: int) -> abi.Registry:
        made = abi.Registry(
            api_version=abi.REGISTRY_API_VERSION,
            name=self._text(name),
            device_count=self._always(abi.SIZE, 1),
            device=self._function(abi.PTR, (abi.PTR, abi.SIZE), lambda *_: device),
            proc_address=self._always(abi.PTR, None, 2),
        )
        self._keep.append(made)
        return made

    def _backend(self, profile: Profile, name: str, device: int) -> int:
        guid = (C.c_uint8 * 16)(*zlib.crc32(name.encode()).to_bytes(4, "little"))
        nothing = self._always(None, None, 1)
        made = abi.Backend(
            guid=C.addressof(guid),
            name=self._text(name),
            free=nothing,
            synchronize=nothing,
            graph_compute=self._always(abi.I32, 0, 2),
            device=device,
        )
        if profile.has_events:
            made.event_record = made.event_wait = self._always(None, None, 2)
        self._keep += [made, guid]
        return C.addressof(made)
