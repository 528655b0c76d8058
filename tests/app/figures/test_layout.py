"""The layered drawing of a block, whatever its shape; and the cuts that make blocks."""

from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from galloscope.app.figures.layout import Effort, Kind, Shape, crossing_values, cut_layers, cut_sections, layout_block
from galloscope.app.figures.layout.blocks import MAX_SECTION, MIN_SECTION
from galloscope.app.figures.layout.coords import assign_x
from galloscope.app.figures.layout.kind import NODE_W, VIEW_W
from galloscope.app.figures.layout.order import build_rows, crossings, order_rows
from galloscope.app.figures.layout.page import line_points, place_blocks
from galloscope.app.figures.layout.ranks import assign_ranks


@st.composite
def shapes(draw: Any, most: int = 24) -> Shape:
    """Any block: nodes read earlier nodes or ports, some leave, some begin a split."""
    n = draw(st.integers(1, most))
    ports = draw(st.integers(0, 3))
    parents = []
    for i in range(n):
        row = draw(st.lists(st.integers(-ports, i - 1), max_size=4, unique=True)) if i + ports else []
        parents.append(tuple(row))
    flags = st.lists(st.booleans(), min_size=n, max_size=n)
    return Shape(
        parents=tuple(parents),
        views=tuple(draw(flags)),
        tags=tuple(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))),
        cuts=tuple(i for i, cut in enumerate(draw(flags)) if cut),
        ports=ports,
        outs=tuple(i for i, out in enumerate(draw(flags)) if out),
    )


def boxes(shape: Shape, kind: Kind) -> list[tuple[float, float, float, float]]:
    """Left, top, right, bottom of each node."""
    found = []
    for i, (x, y) in enumerate(zip(kind.x, kind.y, strict=True)):
        w, h = (VIEW_W if shape.views[i] else NODE_W), shape.height(i)
        found.append((x - w / 2, y - h / 2, x + w / 2, y + h / 2))
    return found


@given(shapes(), st.sampled_from(Effort))
def test_lines_go_down_and_nodes_keep_apart(shape: Shape, effort: Effort) -> None:
    kind = layout_block(shape, effort)
    own = boxes(shape, kind)
    for source, target, _, _ in kind.lines:
        if source >= 0 and target < len(own):
            assert own[source][3] < own[target][1]
    for i, (left, top, right, bottom) in enumerate(own):
        assert 0 <= left <= right <= kind.width
        assert 0 <= top <= bottom <= kind.height
        for other in own[:i]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top


@given(shapes())
def test_a_split_boundary_is_a_straight_line_between_its_splits(shape: Shape) -> None:
    kind = layout_block(shape)
    own = boxes(shape, kind)
    assert len(kind.boundaries) == len(shape.cuts)
    assert all(a < b for a, b in pairwise(kind.boundaries))
    for cut, line in zip(shape.cuts, kind.boundaries, strict=True):
        assert all(box[3] <= line for box in own[:cut])
        assert all(line <= box[1] for box in own[cut:])


@given(shapes(), st.sampled_from(Effort))
def test_every_source_has_one_line_and_every_leaving_value_one(shape: Shape, effort: Effort) -> None:
    kind = layout_block(shape, effort)
    n = len(shape.parents)
    wanted = [(p, i) for i, row in enumerate(shape.parents) for p in row]
    wanted += [(source, n + k) for k, source in enumerate(shape.outs)]
    assert sorted((s, t) for s, t, _, _ in kind.lines) == sorted(wanted)
    heights = [shape.height(i) for i in range(n)]
    for line in kind.lines:
        points = line_points(kind, line, heights)
        assert len(points) % 3 == 1
        assert all(a[1] <= b[1] for a, b in pairwise(points[::3]))


@given(shapes(), st.sampled_from(Effort))
def test_the_drawing_depends_on_the_shape_alone(shape: Shape, effort: Effort) -> None:
    assert layout_block(shape, effort) == layout_block(shape, effort)


@given(shapes(12))
def test_crossings_are_what_counting_all_pairs_gives(shape: Shape) -> None:
    ranks, _ = assign_ranks(shape.parents, (), 1 if shape.ports else 0, shape.outs)
    g = build_rows(ranks, shape.parents, shape.ports, shape.outs)
    before = order_rows(g, 0)
    assert before == -1
    place = [0] * len(g.up)
    for row in g.rows:
        for k, v in enumerate(row):
            place[v] = k
    slow = 0
    for upper in g.rows:
        lines = [(place[v], place[u]) for v in upper for u in g.down[v]]
        slow += sum((a - c) * (b - d) < 0 for k, (a, b) in enumerate(lines) for c, d in lines[:k])
    assert crossings(g, place) == slow
    assert order_rows(g, 8) <= slow


@given(shapes(), st.booleans())
def test_vertices_of_a_row_keep_order_and_distance(shape: Shape, careful: bool) -> None:
    ranks, _ = assign_ranks(shape.parents, (), 1 if shape.ports else 0, shape.outs)
    g = build_rows(ranks, shape.parents, shape.ports, shape.outs)
    order_rows(g, 4)
    half = [float(5 + v % 7) for v in range(len(g.up))]
    x = assign_x(g, half, careful=careful)
    for row in g.rows:
        assert all(x[b] - x[a] >= half[a] + half[b] for a, b in pairwise(row))


def test_long_lines_of_one_value_share_a_trunk() -> None:
    ranks, _ = assign_ranks([[], [0], [1], [2], [0, 3], [0, 4]], (), 0, ())
    g = build_rows(ranks, [[], [0], [1], [2], [0, 3], [0, 4]], 0, ())
    assert len(g.up) - g.n_real == 4  # rows 1 to 4; with a trunk for each line there would be seven


def test_a_chain_that_hangs_from_nothing_sinks_to_its_reader() -> None:
    ranks, _ = assign_ranks([[], [0], [1], [2], [], [4], [3, 5]], (), 0, ())
    assert ranks == [0, 1, 2, 3, 2, 3, 4]


def test_layers_follow_the_numbers_and_unnumbered_nodes_the_layer_before() -> None:
    numbers = [-1, -1, 0, -1, 0, -1, 1, 1, 1, -1, 1, -1]
    layers = cut_layers(numbers, [0] * 12, [1] * 12)
    assert [(x.title, x.start, x.end) for x in layers] == [
        ("input", 0, 2),
        ("layer 0", 2, 6),
        ("layer 1", 6, 11),
        ("output", 11, 12),
    ]


def test_a_number_that_comes_back_is_named_so() -> None:
    numbers = [0] * 5 + [1] * 5 + [0] * 5
    assert [x.title for x in cut_layers(numbers, [0] * 15, [1] * 15)] == ["layer 0", "layer 1", "layer 0 again"]


def test_interleaved_numbers_are_not_layers() -> None:
    numbers = [i % 2 for i in range(100)]
    assert {x.number for x in cut_layers(numbers, [0] * 100, [1] * 100)} == {-1}


def test_without_numbers_pieces_end_at_split_boundaries() -> None:
    splits = [i // 33 for i in range(200)]
    layers = cut_layers([-1] * 200, splits, [1] * 200)
    assert [x.end for x in layers[:-1]] == [33, 66, 99, 132, 165]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=300))
def test_sections_cover_a_layer_and_stay_small(crossing: list[int]) -> None:
    sections = cut_sections(0, len(crossing), crossing)
    assert sections[0][0] == 0
    assert sections[-1][1] == len(crossing)
    assert all(a[1] == b[0] for a, b in pairwise(sections))
    assert all(end - start <= MAX_SECTION for start, end in sections)
    assert all(end - start >= MIN_SECTION for start, end in sections) or len(sections) == 1


def test_a_layer_is_cut_where_one_value_flows() -> None:
    parents = [[i - 1] if i else [] for i in range(20)]
    for i in range(1, 10):
        parents[i + 9 if i < 9 else 18].append(9)
    crossing = crossing_values(parents)
    assert crossing[10] == 1
    assert cut_sections(0, 20, [2] * 9 + [2, 1] + [2] * 9) == [(0, 10), (10, 20)]


def test_a_page_is_filled_in_columns() -> None:
    kind = layout_block(Shape(((), (0,), (1,)), (False,) * 3, (0,) * 3, (), 0, (2,)))
    page = place_blocks([kind] * 12, [True] * 12, aspect=2.0)
    assert sorted(set(page.column)) == list(range(len(page.left)))
    assert 0.8 < page.width / page.height / 2.0 < 1.25 or len(page.left) > 1
    corners = set(page.corner)
    assert len(corners) == 12
