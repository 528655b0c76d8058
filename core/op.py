"""The ops of ggml 0.26 and what the planner needs to know about each."""

from __future__ import annotations

from enum import Enum


class Op(str, Enum):
    """enum ggml_op; the value is what ggml_op_name prints, the order is the enum's."""

    NONE = "NONE"
    DUP = "DUP"
    ADD = "ADD"
    ADD_ID = "ADD_ID"
    ADD1 = "ADD1"
    ACC = "ACC"
    SUB = "SUB"
    MUL = "MUL"
    DIV = "DIV"
    SQR = "SQR"
    SQRT = "SQRT"
    LOG = "LOG"
    SIN = "SIN"
    COS = "COS"
    SUM = "SUM"
    SUM_ROWS = "SUM_ROWS"
    CUMSUM = "CUMSUM"
    MEAN = "MEAN"
    ARGMAX = "ARGMAX"
    COUNT_EQUAL = "COUNT_EQUAL"
    REPEAT = "REPEAT"
    REPEAT_BACK = "REPEAT_BACK"
    CONCAT = "CONCAT"
    SILU_BACK = "SILU_BACK"
    NORM = "NORM"
    RMS_NORM = "RMS_NORM"
    RMS_NORM_BACK = "RMS_NORM_BACK"
    GROUP_NORM = "GROUP_NORM"
    L2_NORM = "L2_NORM"
    MUL_MAT = "MUL_MAT"
    MUL_MAT_ID = "MUL_MAT_ID"
    OUT_PROD = "OUT_PROD"
    SCALE = "SCALE"
    SET = "SET"
    CPY = "CPY"
    CONT = "CONT"
    RESHAPE = "RESHAPE"
    VIEW = "VIEW"
    PERMUTE = "PERMUTE"
    TRANSPOSE = "TRANSPOSE"
    GET_ROWS = "GET_ROWS"
    GET_ROWS_BACK = "GET_ROWS_BACK"
    SET_ROWS = "SET_ROWS"
    DIAG = "DIAG"
    DIAG_MASK_INF = "DIAG_MASK_INF"
    DIAG_MASK_ZERO = "DIAG_MASK_ZERO"
    SOFT_MAX = "SOFT_MAX"
    SOFT_MAX_BACK = "SOFT_MAX_BACK"
    ROPE = "ROPE"
    ROPE_BACK = "ROPE_BACK"
    CLAMP = "CLAMP"
    CONV_TRANSPOSE_1D = "CONV_TRANSPOSE_1D"
    IM2COL = "IM2COL"
    IM2COL_BACK = "IM2COL_BACK"
    IM2COL_3D = "IM2COL_3D"
    COL2IM_1D = "COL2IM_1D"
    CONV_2D = "CONV_2D"
    CONV_3D = "CONV_3D"
    CONV_2D_DW = "CONV_2D_DW"
    CONV_TRANSPOSE_2D = "CONV_TRANSPOSE_2D"
    POOL_1D = "POOL_1D"
    POOL_2D = "POOL_2D"
    POOL_2D_BACK = "POOL_2D_BACK"
    UPSCALE = "UPSCALE"
    PAD = "PAD"
    PAD_REFLECT_1D = "PAD_REFLECT_1D"
    ROLL = "ROLL"
    ARANGE = "ARANGE"
    TIMESTEP_EMBEDDING = "TIMESTEP_EMBEDDING"
    ARGSORT = "ARGSORT"
    TOP_K = "TOP_K"
    LEAKY_RELU = "LEAKY_RELU"
    TRI = "TRI"
    FILL = "FILL"
    FLASH_ATTN_EXT = "FLASH_ATTN_EXT"
    FLASH_ATTN_BACK = "FLASH_ATTN_BACK"
    SSM_CONV = "SSM_CONV"
    SSM_SCAN = "SSM_SCAN"
    WIN_PART = "WIN_PART"
    WIN_UNPART = "WIN_UNPART"
    GET_REL_POS = "GET_REL_POS"
    ADD_REL_POS = "ADD_REL_POS"
    RWKV_WKV6 = "RWKV_WKV6"
    GATED_LINEAR_ATTN = "GATED_LINEAR_ATTN"
    RWKV_WKV7 = "RWKV_WKV7"
    SOLVE_TRI = "SOLVE_TRI"
    GATED_DELTA_NET = "GATED_DELTA_NET"
    LIGHTNING_INDEXER = "LIGHTNING_INDEXER"
    DSV4_HC_COMB = "DSV4_HC_COMB"
    DSV4_HC_PRE = "DSV4_HC_PRE"
    DSV4_HC_POST = "DSV4_HC_POST"
    UNARY = "UNARY"
    MAP_CUSTOM1 = "MAP_CUSTOM1"
    MAP_CUSTOM2 = "MAP_CUSTOM2"
    MAP_CUSTOM3 = "MAP_CUSTOM3"
    CUSTOM = "CUSTOM"
    CROSS_ENTROPY_LOSS = "CROSS_ENTROPY_LOSS"
    CROSS_ENTROPY_LOSS_BACK = "CROSS_ENTROPY_LOSS_BACK"
    OPT_STEP_ADAMW = "OPT_STEP_ADAMW"
    OPT_STEP_SGD = "OPT_STEP_SGD"
    GLU = "GLU"

    __str__ = str.__str__
    __hash__ = str.__hash__


UNARY_OPS = (
    "ABS", "SGN", "NEG", "STEP", "TANH", "ELU", "RELU", "SIGMOID", "GELU", "GELU_QUICK", "SILU", "HARDSWISH",
    "HARDSIGMOID", "EXP", "EXPM1", "SOFTPLUS", "GELU_ERF", "XIELU", "FLOOR", "CEIL", "ROUND", "TRUNC",
)  # fmt: skip
"""enum ggml_unary_op: which one an op UNARY is stands in its first op_params word."""

GLU_OPS = ("REGLU", "GEGLU", "SWIGLU", "SWIGLU_OAI", "GEGLU_ERF", "GEGLU_QUICK", "SWIGLU_CLAMP")
"""enum ggml_glu_op, likewise for op GLU."""

VIEW_OPS = frozenset({Op.VIEW, Op.RESHAPE, Op.PERMUTE, Op.TRANSPOSE})
"""Ops that only describe memory: nothing is computed (ggml_is_view_op)."""

IN_PLACE_OPS = frozenset(
    {
        Op.FILL,
        Op.SCALE,
        Op.DIAG_MASK_ZERO,
        Op.DIAG_MASK_INF,
        Op.ADD,
        Op.ADD_ID,
        Op.ADD1,
        Op.SUB,
        Op.MUL,
        Op.DIV,
        Op.SQR,
        Op.SQRT,
        Op.LOG,
        Op.UNARY,
        Op.ROPE,
        Op.ROPE_BACK,
        Op.SILU_BACK,
        Op.RMS_NORM,
        Op.RMS_NORM_BACK,
        Op.CLAMP,
        Op.SOFT_MAX,
        Op.SOFT_MAX_BACK,
    }
)
"""Ops that may write over one of their sources (ggml_op_can_inplace)."""

NO_WEIGHT_OPS = frozenset({Op.ROPE, Op.FLASH_ATTN_EXT})
"""Ops that pass 1 does not place by their weights: the one they have is too small to decide."""

EXPANDING_OPS = frozenset({Op.FLASH_ATTN_EXT, Op.MUL_MAT, Op.MUL_MAT_ID, Op.CUMSUM, Op.ARGSORT, Op.TOP_K})
"""Ops whose result a device may give more bytes than its shape needs (ggml_op_alloc_size_may_expand)."""
