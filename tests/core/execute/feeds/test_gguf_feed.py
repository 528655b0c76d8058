"""Weights by name from a model file, what stands twice in a graph included."""

from pathlib import Path

import pytest

from galloscope.core.dtypes import DTYPES
from galloscope.core.errors import InputError
from galloscope.core.execute.feeds.gguf import GgufFeed
from galloscope.core.execute.feeds.random import RandomFeed
from galloscope.core.gguf.data import GgufData
from galloscope.core.gguf.read import read_header
from galloscope.core.graph import Graph
from galloscope.core.tensor import Tensor
from galloscope.tests.core.execute.feeds.leafs import F16, F32, same, tensor
from galloscope.tests.core.gguf.test_data import ROWS, model


@pytest.fixture
def data(tmp_path: Path) -> GgufData:
    return GgufData(read_header(model(tmp_path, ROWS)[0]))


def bytes_of(feed: GgufFeed, one: Tensor) -> bytes:
    found = feed.external(one)
    assert found is not None
    return found.tobytes()


def test_weights_are_the_files(tmp_path: Path, data: GgufData) -> None:
    contents = model(tmp_path, ROWS, "again.gguf")[1]
    feed = GgufFeed(data)
    q4_0 = DTYPES["q4_0"]
    assert bytes_of(feed, tensor("a", F32, 3, weight=True)) == contents["a"]
    assert bytes_of(feed, tensor("b~2", q4_0, 32, 5, weight=True)) == contents["b"]
    assert bytes_of(feed, tensor("w_1", q4_0, 32, 5, weight=True, label="b")) == contents["b"]
    given = feed.leaf(tensor("c", F16, 2, 2, 2, 2))
    assert given is not None, "a graph without buffers has weights as plain leafs"
    assert given.tobytes() == contents["c"]


def test_everything_else_is_the_other_feeds(data: GgufData) -> None:
    x, cache = tensor("x", F32, 8), tensor("cache_k_l0", F16, 8)
    assert GgufFeed(data).leaf(x) is None
    random = RandomFeed(Graph((x, cache), ()), 1)
    feed = GgufFeed(data, random)
    assert same(feed.leaf(x), random.leaf(x))
    assert feed.external(cache) is None


def test_weights_of_another_model(data: GgufData) -> None:
    feed = GgufFeed(data)
    with pytest.raises(InputError, match=r"weight 'aa': .*m\.gguf has no such tensor"):
        feed.external(tensor("aa", F32, 3, weight=True))
    with pytest.raises(InputError, match=r"'a' is f32 .*4.* in the graph, but f32 .*3.* in .*m\.gguf"):
        feed.external(tensor("a", F32, 4, weight=True))
    with pytest.raises(InputError, match=r"'a' is f16 .* but f32"):
        feed.external(tensor("a", F16, 3, weight=True))
