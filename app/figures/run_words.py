"""How measured times and computed values are written; `assets/run.js` follows the same rules."""

from __future__ import annotations

import math

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def seconds_text(seconds: float) -> str:
    """A time with three significant digits.

    >>> seconds_text(1.25), seconds_text(0.0421), seconds_text(0.00000312), seconds_text(0.0)
    ('1.25 s', '42.1 ms', '3.12 µs', '0 µs')
    """
    size, unit = next((one for one in _UNITS if seconds >= one[0] * 0.9995), _UNITS[-1])
    number = seconds / size
    if number == 0 or number >= 999.5:
        return f"{number:,.0f} {unit}"
    return f"{number:.{max(0, 2 - math.floor(math.log10(number) + 1e-12))}f} {unit}"


def number_text(value: float) -> str:
    """A computed value with four significant digits, exponents without padding.

    >>> number_text(0.1234567), number_text(-65504.0), number_text(3e-9), number_text(-0.0)
    ('0.1235', '-65504', '3e-9', '0')
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if not value:
        return "0"
    if not 1e-4 <= abs(value) < 1e6:
        head, _, tail = f"{value:.3e}".partition("e")
        head = head.rstrip("0").rstrip(".") if "." in head else head
        return f"{head}e{int(tail)}"
    text = f"{value:.{max(0, 3 - math.floor(math.log10(abs(value))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def wrong_text(nans: int, infs: int) -> str:
    """What is no number among some values, empty when there is nothing.

    >>> wrong_text(3, 1), wrong_text(0, 0)
    ('3 NaN, 1 infinite', '')
    """
    return ", ".join(f"{count:,} {what}" for count, what in ((nans, "NaN"), (infs, "infinite")) if count)


def share_text(part: float, whole: float) -> str:
    """A share in percent, whole numbers from 10 on.

    >>> share_text(1, 3), share_text(1, 30), share_text(1, 1e6), share_text(1, 0)
    ('33 %', '3.3 %', '< 0.1 %', '0 %')
    """
    share = 100 * part / whole if whole else 0.0
    if 0 < share < 0.05:
        return "< 0.1 %"
    return f"{share:.0f} %" if share >= 9.95 or share == 0 else f"{share:.1f} %"
