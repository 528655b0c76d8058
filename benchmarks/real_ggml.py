"""What the real ggml decides about a graph document, and how long it takes.

    python benchmarks/real_ggml.py FILE...     one line of JSON per file: placements, chunks, splits

A GGML_ASSERT ends the process that runs into it, so :class:`RealGgml` asks a child process, which is started again
after each death.
"""

import ctypes as C
import gzip
import json
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from galloscope.benchmarks import ggml_abi as abi
from galloscope.benchmarks.ggml_devices import Document, Machine
from galloscope.benchmarks.ggml_graph import RealGraph
from galloscope.core.native import layouts


def understood(document: Document) -> bool:
    """Whether a document uses nothing that only a real backend's own code can do here."""
    return not document.get("alloc_deps") and not document.get("sched", {}).get("direct")


def _mode(document: Document) -> str:
    several = len(document.get("backends", ())) > 1
    return str(document.get("mode", "sched" if several or "sched" in document else "galloc"))


def runs_of(document: Document) -> list[Document]:
    """One object with tensors, outputs and the reserve switch for each run of a document."""
    keys = ("tensors", "outputs")
    first = {**{key: document[key] for key in keys}, "reserve": document.get("reserve")}
    later = ({**first, "reserve": None, **entry} for entry in document.get("sequence", ()))
    return [first, *later]


class Planner:
    """One live ``ggml_gallocr`` or ``ggml_backend_sched`` and the runs of a document on it."""

    def __init__(self, document: Document, machine: Machine) -> None:
        """Create the allocator or the scheduler on a machine."""
        self.document, self.library, self.machine = document, abi.load(), machine
        self.is_sched = _mode(document) == "sched"
        n = len(machine.backends)
        bufts = (abi.PTR * n)(*(machine.buft_pointer(name) for name in machine.default_bufts))
        if self.is_sched:
            options = document.get("sched", {})
            backends = (abi.PTR * n)(*(C.addressof(backend) for backend in machine.backends))
            tensors = max(len(run["tensors"]) for run in runs_of(document))
            self.handle = self.library.ggml_backend_sched_new(
                backends, bufts, n, 2 * tensors + 64, options.get("parallel", False), options.get("op_offload", True)
            )
            self.galloc = int(abi.Sched.from_address(self.handle).galloc)
        else:
            self.handle = self.galloc = self.library.ggml_gallocr_new_n(bufts, n)

    def graph(self, run: Document) -> RealGraph:
        """The tensors of one run."""
        return RealGraph(self.machine, run, str(self.document.get("order", "left_to_right")))

    def runs(self) -> list[Document]:
        """Plan every run in turn and say what was decided."""
        answers = []
        for run in runs_of(self.document):
            graph = self.graph(run)
            graph.prepare()
            graph.build()
            answers.append(self._schedule(graph, run) if self.is_sched else self._allocate(graph, run))
            graph.close()
        return answers

    def close(self) -> None:
        """Free what was created."""
        (self.library.ggml_backend_sched_free if self.is_sched else self.library.ggml_gallocr_free)(self.handle)

    def ids_of(self, graph: RealGraph) -> tuple[Any, Any]:
        """The buffer ids of nodes and leafs in mode galloc."""
        real = layouts.Graph.from_address(graph.pointer)
        stride = C.sizeof(abi.Tensor)
        first = graph.address(0)

        def ids(pointer: int, n: int) -> Any:
            found = (graph.documents[(p - first) // stride].get("buffer_id", 0) for p in _pointers(pointer, n))
            return (abi.I32 * max(n, 1))(*found)

        return ids(real.nodes, real.n_nodes), ids(real.leafs, real.n_leafs)

    def _allocate(self, graph: RealGraph, run: Document) -> Document:
        reserve = run["reserve"]
        if reserve or (reserve is None and len(self.machine.backends) > 1):
            self.library.ggml_gallocr_reserve_n(self.galloc, graph.pointer, *self.ids_of(graph))
        ok = self.library.ggml_gallocr_alloc_graph(self.galloc, graph.pointer)
        return {"ok": ok, **self._plan(layouts.Graph.from_address(graph.pointer), ok)}

    def pin(self, graph: RealGraph) -> None:
        """``ggml_backend_sched_set_tensor_backend`` for each ``pin``."""
        for i, tensor in enumerate(graph.documents):
            if "pin" in tensor:
                backend = self.machine.backends[self.machine.backend_names.index(tensor["pin"])]
                self.library.ggml_backend_sched_set_tensor_backend(self.handle, graph.address(i), C.addressof(backend))

    def _schedule(self, graph: RealGraph, run: Document) -> Document:
        self.library.ggml_backend_sched_reset(self.handle)
        self.pin(graph)
        if run["reserve"]:
            ok = self.library.ggml_backend_sched_reserve(self.handle, graph.pointer)
            return {"ok": ok, "buffers": self._buffers(), "tensors": []}
        ok = self.library.ggml_backend_sched_alloc_graph(self.handle, graph.pointer)
        sched = abi.Sched.from_address(self.handle)
        splits = (abi.Split * sched.n_splits).from_address(sched.splits)
        plain = layouts.Graph.from_address(graph.pointer)
        backend_ids = {
            "nodes": _integers(sched.node_backend_ids, sched.graph.n_nodes),
            "leafs": _integers(sched.leaf_backend_ids, sched.graph.n_leafs),
        }
        return {
            "ok": ok,
            "nodes": _names(plain.nodes, plain.n_nodes),
            "leafs": _names(plain.leafs, plain.n_leafs),
            "splits": [
                {"backend": s.backend, "start": s.start, "end": s.end, "inputs": _names(s.inputs, s.n_inputs)}
                for s in splits
            ],
            "alloc_nodes": _with_ids(_names(sched.graph.nodes, sched.graph.n_nodes), backend_ids["nodes"]),
            "alloc_leafs": _with_ids(_names(sched.graph.leafs, sched.graph.n_leafs), backend_ids["leafs"]),
            **self._plan(sched.graph, ok),
        }

    def _plan(self, graph: Any, ok: bool) -> Document:
        """Where each tensor of an allocated graph lies, read from the allocator's own table."""
        placed: dict[str, list[Any]] = {}
        galloc = layouts.Gallocr.from_address(self.galloc)
        first_id = self._first_ids()
        external = self.machine.external_buffers()

        def add(pointer: int | None, plan: Any) -> None:
            if not pointer or plan.buffer < 0:
                return
            tensor = abi.Tensor.from_address(pointer)
            if not tensor.view_src and tensor.buffer not in external:  # an old plan may have had a place for it
                name = tensor.name.decode()
                buft = self.machine.buft_pointer(self.machine.default_bufts[plan.buffer])
                size = self.library.ggml_backend_buft_get_alloc_size(buft, pointer)  # plan.size is that of the reserve
                placed.setdefault(name, [name, first_id[plan.buffer], plan.chunk, plan.offset, size])

        if ok:
            if graph.n_leafs:
                leaf_plans = (abi.TensorAlloc * graph.n_leafs).from_address(galloc.leaf_allocs)
                for pointer, plan in zip(_pointers(graph.leafs, graph.n_leafs), leaf_plans, strict=True):
                    add(pointer, plan)
            if graph.n_nodes:
                node_plans = (layouts.NodeAlloc * graph.n_nodes).from_address(galloc.node_allocs)
                for pointer, node in zip(_pointers(graph.nodes, graph.n_nodes), node_plans, strict=True):
                    for source, plan in zip(abi.Tensor.from_address(pointer).src, node.src, strict=True):
                        add(source, plan)
                    add(pointer, node.dst)
        return {"buffers": self._buffers(), "tensors": list(placed.values())}

    def _first_ids(self) -> list[int]:
        names = self.machine.default_bufts
        return [names.index(name) for name in names]

    def _buffers(self) -> list[Document]:
        galloc = layouts.Gallocr.from_address(self.galloc)
        found = []
        for i, pointer in enumerate(_pointers(galloc.tallocs, galloc.n_buffers)):
            tallocr = layouts.DynTallocr.from_address(pointer)
            chunks = [layouts.Chunk.from_address(tallocr.chunks[c]).max_size for c in range(tallocr.n_chunks)]
            size = self.library.ggml_gallocr_get_buffer_size(self.galloc, i)
            found.append({"buft": self.machine.default_bufts[i], "chunks": chunks, "size": size})
        return found


def _pointers(address: int, n: int) -> list[int]:
    return list((abi.PTR * n).from_address(address)) if n else []


def _integers(address: int, n: int) -> list[int]:
    return list((abi.I32 * n).from_address(address)) if n else []


def _names(address: int, n: int) -> list[str]:
    return [abi.Tensor.from_address(p).name.decode() for p in _pointers(address, n)]


def _with_ids(names: list[str], ids: list[int]) -> list[list[Any]]:
    return [[name, i] for name, i in zip(names, ids, strict=True)]


def decide(document: Document) -> list[Document]:
    """Everything real ggml decides about a document, one record per run; an assert ends this process."""
    planner = Planner(document, Machine(document))
    answers = planner.runs()
    planner.close()
    return answers


def load(path: Path) -> Document:
    """Read a graph document, compressed or not."""
    data = path.read_bytes()
    document: Document = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return document


class RealGgml:
    """The real ggml in a child process, for graphs that may make it abort."""

    def __init__(self) -> None:
        """Nothing is started before the first question."""
        self._child: subprocess.Popen[str] | None = None

    def ask(self, document: Document) -> list[Document] | str:
        """What real ggml decides, run by run, or the message with which it aborted."""
        if self._child is None or self._child.poll() is not None:
            self._child = subprocess.Popen(
                [sys.executable, __file__, "--serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        child = self._child
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdin.write(json.dumps(document) + "\n")
        child.stdin.flush()
        line = child.stdout.readline()
        if line:
            answer: list[Document] = json.loads(line)
            return answer
        message = child.stderr.read().strip()
        self.close()
        return message

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.kill()
            self._child.communicate()
            self._child = None

    def __enter__(self) -> "RealGgml":
        """Start lazily."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End the child."""
        self.close()


def main(arguments: list[str]) -> None:
    """Answer each file named, or, with ``--serve``, each line of standard input."""
    documents = map(json.loads, sys.stdin) if arguments == ["--serve"] else (load(Path(a)) for a in arguments)
    for document in documents:
        print(json.dumps(decide(document)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
