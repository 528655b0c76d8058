"""The words that decisions are labelled with: ggml's own where ggml has one."""

from __future__ import annotations

from enum import Enum


class Stage(str, Enum):
    """The parts of a run, in order."""

    BUILD = "build"
    SCHEDULE = "schedule"
    ALLOCATE = "allocate"
    COMPUTE = "compute"


class PassName(str, Enum):
    """The passes of ggml_backend_sched_split_graph that assign backends."""

    PINS = "0.pins"
    FACTS = "1"
    GPU_DOWN = "2.gpu_down"
    GPU_UP = "2.gpu_up"
    REST_DOWN = "2.rest_down"
    REST_UP = "2.rest_up"
    BEST = "3"
    FOLLOW = "4"
    SPLIT = "5"


class Cause(str, Enum):
    """ggml's SET_CAUSE labels (compiled out of release builds)."""

    USR = "usr"
    DST = "1.dst"
    INP = "1.inp"
    OFF = "1.off"
    WGT0 = "1.wgt0"
    WGT1 = "1.wgt1"
    WGT2 = "1.wgt2"
    WGT3 = "1.wgt3"
    WGT4 = "1.wgt4"
    WGT5 = "1.wgt5"
    WGT6 = "1.wgt6"
    WGT7 = "1.wgt7"
    WGT8 = "1.wgt8"
    WGT9 = "1.wgt9"
    SUP = "2.sup"
    BEST = "3.best"
    UPG = "3.upg"
    VSRC = "4.vsrc"
    CUR = "4.cur"
    CPY = "4.cpy"
    LEAF_CPY = "6.cpy"


WEIGHT_CAUSES = tuple(Cause(f"1.wgt{slot}") for slot in range(10))


class SplitReason(str, Enum):
    """Why pass 5 cut here."""

    FIRST = "first"
    BACKEND = "backend"
    WEIGHT = "weight"


class Refusal(str, Enum):
    """Why a node could not take its source's memory, in the order ggml tests."""

    EXTERNAL = "external"
    OUTPUT = "output"
    LAYOUT = "layout"
    CHILDREN = "children"
    VIEWS = "views"


class Fit(str, Enum):
    """Which free block an allocation took."""

    FIT = "fit"
    LAST = "last"
    NEW = "new"


class AllocPhase(str, Enum):
    """The three loops of ggml_gallocr_alloc_graph_impl."""

    LEAFS = "leafs"
    INPUTS = "inputs"
    NODES = "nodes"
