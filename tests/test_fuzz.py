"""Hostile files on the command line: one sentence, exit code 2, bounded memory and time, never a traceback."""

import gzip
import json
import random
import resource
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MEMORY = 2 << 30
SECONDS = 10
OTHER_COMMANDS = ("stats", "report")  # they read with the same reader: some of the files are enough
Make = Callable[[Path], object]


def tensors(*extra: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A small good graph with something wrong added to its second tensor, or to its list."""
    good = [{"name": "x", "ne": [64, 2], "flags": ["input"]}, {"name": "y", "op": "SCALE", "src": ["x"], **changes}]
    return {"tensors": [*good, *extra], "outputs": ["y"]}


def cycle(length: int) -> dict[str, Any]:
    ring = [{"name": f"t{i}", "op": "SCALE", "src": [f"t{(i + 1) % length}"], "ne": [4]} for i in range(length)]
    return {"tensors": ring, "outputs": ["t0"]}


def text(value: Any) -> Make:
    """A file that holds a value as JSON, or a string as it is."""
    data = value if isinstance(value, str) else json.dumps(value)
    return lambda path: path.write_text(data, encoding="utf-8")


def binary(data: Callable[[], bytes]) -> Make:
    return lambda path: path.write_bytes(data())


def bomb() -> bytes:
    """16 GiB of spaces in a few MiB of gzip: one compressed block, repeated."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = squeeze.compress(b" " * (1 << 24)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff" + first * 1024


GOOD = json.dumps(tensors()).encode()

HOSTILE: dict[str, Make] = {
    "empty": text(""),
    "spaces": text(" \n\t"),
    "binary junk": binary(lambda: random.Random(1).randbytes(100_000)),
    "gzip of junk": binary(lambda: gzip.compress(random.Random(2).randbytes(100_000))),
    "truncated gzip": binary(lambda: gzip.compress(GOOD)[:-12]),
    "damaged gzip": binary(lambda: gzip.compress(GOOD)[:-8] + b"\0" * 8),
    "gzip bomb": binary(bomb),
    "not UTF-8": binary(lambda: GOOD.replace(b'"y"', b'"\xff\xfe"')),
    "UTF-16": binary(lambda: GOOD.decode().encode("utf-16")),
    "lone surrogate": text('{"tensors": [{"name": "\\ud800", "ne": [4]}], "outputs": ["\\ud800"]}'),
    "half a file": text(GOOD.decode()[: len(GOOD) // 2]),
    "two documents": text(GOOD.decode() * 2),
    "a list": text([]),
    "a number": text("17"),
    "null": text("null"),
    "empty object": text({}),
    "50 MB of brackets": text("[" * 50_000_000),
    "50 MB of objects": text('{"a":' * 10_000_000),
    "deep about": text('{"about": ' + "[" * 200_000 + "]" * 200_000 + ', "tensors": [], "outputs": []}'),
    "deep src": text('{"tensors": [{"name": "x", "src": ' + "[" * 9_000 + "]" * 9_000 + "}]}"),
    "deep meta": text(json.dumps(tensors())[:-1] + ', "meta": ' + '{"a":' * 100_000 + "1" + "}" * 100_001),
    "NaN": text(GOOD.decode().replace("64", "NaN")),
    "Infinity": text(GOOD.decode().replace("64", "Infinity")),
    "1e400": text(GOOD.decode().replace("64", "1e400")),
    "a fraction": text(GOOD.decode().replace("64", "64.5")),
    "negative ne": text(tensors(ne=[-4, 2])),
    "huge ne": text(tensors(ne=[10**18, 10**18])),
    "10^18 elements": text(tensors(ne=[10**18])),
    "2^63": text(tensors(ne=[2**63])),
    "10^400": text(GOOD.decode().replace("64", "1" + "0" * 400)),
    "a million digits": text(GOOD.decode().replace("64", "7" * 1_000_000)),
    "five dimensions": text(tensors(ne=[1, 1, 1, 1, 1])),
    "negative nb": text(tensors(nb=[4, -256])),
    "huge nb": text(tensors(nb=[4, 2**62, 2**62, 2**62])),
    "ne is a string": text(tensors(ne="64")),
    "ne is a bool": text(tensors(ne=[True, 2])),
    "view past its base": text(tensors(op="VIEW", ne=[64], view_offs=10**17)),
    "negative view_offs": text(tensors(op="VIEW", ne=[64], view_offs=-4)),
    "view of itself": text(tensors(view_src="y")),
    "cycle of one": text(tensors(src=["y"])),
    "cycle of 50,000": text(cycle(50_000)),
    "unknown src": text(tensors(src=["nobody"])),
    "src index too large": text(tensors(src=[10**12])),
    "negative src index": text(tensors(src=[-1])),
    "eleven sources": text(tensors(src=["x"] * 11)),
    "a million sources": text(tensors(src=[0] * 1_000_000)),
    "unknown op": text(tensors(op="MUL_MATT")),
    "unknown type": text(tensors(type="q4_k")),
    "unknown flag": text(tensors(flags=["inputt"])),
    "unknown key": text(tensors(nee=[4])),
    "a key of 1 MB": text(tensors(**{"k" * 1_000_000: 1})),
    "duplicate name": text(tensors({"name": "x", "ne": [4]})),
    "name of 64 bytes": text(tensors({"name": "n" * 64, "ne": [4]})),
    "name with control characters": text(tensors({"name": "a\x1b[31m\n", "ne": [4]})),
    "name of the scheduler": text(tensors({"name": "CPU#x#0", "ne": [4]})),
    "rows that split a block": text(tensors(type="q4_0", ne=[33])),
    "permutation that is none": text(tensors(op="PERMUTE", op_params=[0, 0, 0, 9])),
    "op_params too many": text(tensors(op_params=[0] * 17)),
    "op_params too large": text(tensors(op_params=[2**40])),
    "unknown output": text({**tensors(), "outputs": ["z"]}),
    "outputs are a string": text({**tensors(), "outputs": "y"}),
    "unknown mode": text({**tensors(), "mode": "schedd"}),
    "no backends": text({**tensors(), "backends": []}),
    "17 backends": text({**tensors(), "backends": [{"name": f"CPU{i}"} for i in range(17)]}),
    "a million backends": text({**tensors(), "backends": [{"name": "CPU"}] * 1_000_000}),
    "last backend is no CPU": text({**tensors(), "backends": [{"name": "CPU"}, {"name": "CUDA0"}]}),
    "align of 0": text({**tensors(), "backends": [{"name": "CPU", "align": 0}]}),
    "align of 48": text({**tensors(), "backends": [{"name": "CPU", "align": 48}]}),
    "max_size of 0": text({**tensors(), "backends": [{"name": "CPU", "max_size": 0}]}),
    "pad_quant of 10^18": text({**tensors(), "backends": [{"name": "CPU", "pad_quant": 10**18}]}),
    "op_extra below 0": text({**tensors(), "backends": [{"name": "CPU", "op_extra": {"MUL_MAT": -1}}]}),
    "weight of nobody": text(tensors({"name": "w", "ne": [4], "weight_of": "CUDA7"})),
    "pin to nobody": text({**tensors(pin="CUDA7"), "backends": [{"name": "CUDA0"}, {"name": "CPU"}]}),
    "buffer_id 10^9": text(tensors(buffer_id=10**9)),
    "sequence of junk": text({**tensors(), "sequence": [17]}),
    "alloc_deps of nobody": text({**tensors(), "mode": "sched", "alloc_deps": [["nobody", "y"]]}),
    "directory": lambda path: path.mkdir(),
    "missing": lambda path: None,
}


def limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def galloscope(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a child of bounded memory and time."""
    return subprocess.run(
        [sys.executable, "-c", "import sys; from galloscope.app.cli import main; sys.exit(main())", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        preexec_fn=limit,
        check=False,
    )


def refused(path: Path, *arguments: str) -> None:
    """The command must end with one printable sentence of bounded length that names the file, and exit code 2."""
    done = galloscope(*arguments)
    sentence = done.stderr.strip()
    assert "Traceback" not in sentence
    assert done.returncode == 2, sentence
    assert len(sentence.splitlines()) == 1
    assert path.name in sentence
    assert len(sentence) < 500
    assert sentence.isprintable()


@pytest.mark.parametrize("name", HOSTILE)
def test_trace_refuses(name: str, tmp_path: Path) -> None:
    path = tmp_path / "hostile.graph.json"
    HOSTILE[name](path)
    refused(path, "trace", str(path), "--json")


@pytest.mark.parametrize("command", OTHER_COMMANDS)
@pytest.mark.parametrize(
    "name", ["empty", "gzip bomb", "deep src", "cycle of one", "unknown key", "directory", "missing"]
)
def test_other_commands_refuse(name: str, command: str, tmp_path: Path) -> None:
    path = tmp_path / "hostile.graph.json"
    HOSTILE[name](path)
    refused(path, command, str(path), *(["-o", str(tmp_path / "report.svg")] if command == "report" else []))


def test_the_others_are_still_traced(tmp_path: Path) -> None:
    """A file that cannot be read gets its error on its line, in its place."""
    good, bad = tmp_path / "good.graph.json", tmp_path / "bad.graph.json"
    good.write_bytes(GOOD)
    bad.write_text("{")
    done = galloscope("trace", "--json", str(good), str(bad), str(good))
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [sorted(record)[0] if "error" in record else "record" for record in records] == ["record", "error", "record"]
    assert done.returncode == 2


@pytest.mark.parametrize("seed", range(40))
def test_a_mutated_graph_is_traced_or_refused(seed: int, tmp_path: Path) -> None:
    """Random damage to a good file: bytes changed, cut out or doubled."""
    chance = random.Random(seed)
    path = tmp_path / "mutated.graph.json"
    data = bytearray(json.dumps({**tensors(), "backends": [{"name": "CUDA0", "align": 128}, {"name": "CPU"}]}).encode())
    for _ in range(chance.randint(1, 6)):
        at, length = chance.randrange(len(data)), chance.randint(1, 12)
        data[at : at + length] = chance.choice(
            (b"", b"0", b"-", b"9" * 20, data[at : at + length] * 2, b'"', b"[", b"}")
        )
    path.write_bytes(data)
    done = galloscope("trace", str(path), "--json")
    assert done.returncode in (0, 2)
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == (done.returncode == 2)
