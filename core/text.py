"""How numbers, shapes and names are written, in one place; `assets/format.js` follows the same rules.

Names come from files of strangers: nothing here escapes them, whoever writes markup must.
"""

from __future__ import annotations

from collections.abc import Sequence

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def bytes_text(n: int) -> str:
    """A number of bytes in binary units, three significant digits or more; no decimals means that it is exact.

    >>> bytes_text(551895040), bytes_text(512 * 1024**2), bytes_text(9479168)
    ('526.3 MiB', '512 MiB', '9.04 MiB')
    >>> bytes_text(0), bytes_text(1023), bytes_text(1024**2 - 1)
    ('0 B', '1023 B', '1.00 MiB')
    """
    if n < 0:
        return "-" + bytes_text(-n)
    level = 0
    while n >= 1024 ** (level + 1) and level < len(_UNITS) - 1:
        level += 1
    unit = 1024**level
    if n % unit == 0:
        return f"{n // unit} {_UNITS[level]}"
    # Integer arithmetic, halves up, so that Python and JavaScript print the same digits.
    hundredths = (200 * n + unit) // (2 * unit)
    if hundredths < 1000:
        return f"{hundredths // 100}.{hundredths % 100:02} {_UNITS[level]}"
    tenths = (20 * n + unit) // (2 * unit)
    if tenths >= 10240 and level < len(_UNITS) - 1:
        return f"1.00 {_UNITS[level + 1]}"
    return f"{tenths // 10}.{tenths % 10} {_UNITS[level]}"


def hex_text(n: int) -> str:
    """An address or offset in hex, grouped by four digits; the text is a valid literal in Python.

    >>> hex_text(0), hex_text(4096), hex_text(551895040)
    ('0x0', '0x1000', '0x20e5_4000')
    """
    return f"0x{n:_x}"


def shape_text(ne: Sequence[int]) -> str:
    """A shape as ggml prints it, without the trailing ones.

    >>> shape_text((256, 512, 1, 1)), shape_text((1, 1, 1, 1)), shape_text((1, 1, 4, 1))
    ('[256, 512]', '[1]', '[1, 1, 4]')
    """
    used = len(ne)
    while used > 1 and ne[used - 1] == 1:
        used -= 1
    return "[" + ", ".join(str(n) for n in ne[:used]) + "]"


def tail_text(name: str, most: int) -> str:
    """A name cut in the middle to at most `most` characters; the tail says more, so it keeps two thirds.

    >>> tail_text("blk.12.attn_norm.ffn_gate", 16), tail_text("l_out-3", 16), tail_text("result_output", 3)
    ('blk.1…m.ffn_gate', 'l_out-3', 'r…t')
    """
    if len(name) <= most:
        return name
    if most < 3:
        return "…"[:most]
    head = max(1, (most - 1) // 3)
    return name[:head] + "…" + name[len(name) - (most - 1 - head) :]
