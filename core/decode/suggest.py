"""What would have avoided rebuilds and plans, each with its evidence in the session and the flag or call that does it.

A suggestion counts the micro-batches whose failed conditions it takes away, and all of them: one that fails another
condition as well is not counted.
"""

from __future__ import annotations

from .advice import Facts, Suggestion
from .advice_plans import PLAN_RULES
from .advice_reuse import REUSE_RULES
from .life import Life
from .log import LifeLog
from .reasons import reason_of


def suggestions(log: LifeLog, life: Life) -> list[Suggestion]:
    """Everything that the session gives evidence for, what saves most first."""
    keys = [_key(life, number) for number in range(len(life.ubatches))]
    facts = Facts(log, life, keys)
    found = [one for rule in (*REUSE_RULES, *PLAN_RULES) for one in rule(facts)]
    return sorted(found, key=lambda one: -one.saves)


def _key(life: Life, number: int) -> str:
    reason = reason_of(life, number)
    return reason.key if reason else ""
