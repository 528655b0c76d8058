"""`-ot` patterns: the language of std::regex, and time that no pattern can blow up."""

import contextlib
import doctest
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from galloscope.core.errors import InputError
from galloscope.core.llama import overrides as overrides_module
from galloscope.core.llama import pattern as pattern_module
from galloscope.core.llama.options import Override
from galloscope.core.llama.overrides import check_bufts, parse_overrides
from galloscope.core.llama.pattern import MAX_STEPS, Budget, compile_pattern

NAME = "blk.12.ffn_up_exps.weight"


def found(pattern: str, name: str = NAME) -> bool:
    return compile_pattern(pattern).search(name)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("", "anything"),
        ("exps", NAME),
        (r"blk\.(1[0-9]|2[0-5])\.ffn_.*_exps\.", NAME),
        (r"\.ffn_(up|down|gate|gate_up)_(ch|)exps", NAME),
        (r"^blk\.\d{2}\.", NAME),
        (r"weight$", NAME),
        (r"blk\.(?!0\.)\d+", NAME),
        (r"blk\.(?=12\.)", NAME),
        (r"\bffn_up_exps\b", NAME),
        ("[[:digit:]]{2}", NAME),
        ("[[:DIGIT:]]", NAME),
        (r"[\d-]x", "3x-x"),
        ("[a-]", "-"),
        ("[^]", "x"),
        ("a**", "b"),
        ("a|", "b"),
        ("()", ""),
        ("x{2,}", "axxx"),
        (r"\x61\u0062", "ab"),
        ("]}", "x]}"),
        (r"\-\_", "-_"),
        ("a+*?", "b"),
        ("é", "é"),
    ],
)
def test_what_llama_cpp_finds(pattern: str, name: str) -> None:
    assert found(pattern, name)


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("exp$", NAME),
        ("^12", NAME),
        (r"blk\.(?!12\.)\d+\.", NAME),
        ("[]", "x"),
        ("[]a]", "a]"),  # the empty class and then "a]", unlike in Python
        (r"\Bblk", NAME),
        ("EXPS", NAME),
        (r"\d{3}", NAME),
        ("x{2}", "x"),
        ("...", "é"),  # two bytes
        ("a.c", "a\nc"),
    ],
)
def test_what_llama_cpp_does_not_find(pattern: str, name: str) -> None:
    assert not found(pattern, name)


@pytest.mark.parametrize(
    "pattern",
    [
        *("a{", "{1}", "a{,2}", "a{2,1}", "a{1", "*a", "+", "(a", "a)", "[a", "[z-a]", "[a--]", r"[\w-a]", "a|*"),
        *("[[:alpha:]-z]", "[[=a=]-c]", r"[\B]", "[[:foo:]]", "[[.ab.]]", "(?i)a", "(?<=a)b", "(?P<x>a)", "a\\"),
        *(r"\x6", r"\u00g0"),
    ],
)
def test_what_std_regex_refuses(pattern: str) -> None:
    with pytest.raises(InputError, match="std::regex refuses it"):
        compile_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(a)\1", "backreference"),
        ("(a{1000}){1000}", "too large"),
        ("a{1000000000}", "repeats"),
        ("(" * 100, "groups in one another"),
        ("a" + "*" * 900, "repetitions of one another"),
        ("a" * 2000, "up to 1000 are read"),
    ],
)
def test_what_is_not_followed_here(pattern: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", [r"(a+)+b", r"(.*)*(.*)*(.*)*Q", r"((a|a)*)*c", "(?:){1000}{1000}{1000}b"])
def test_patterns_that_would_hang_a_backtracker_are_answered(pattern: str) -> None:
    compiled = compile_pattern(pattern)
    assert not any(compiled.search("a" * 63) for _ in range(50))
    assert compiled._budget.steps < MAX_STEPS


def test_a_pattern_has_a_budget() -> None:
    pattern = compile_pattern("(?=(?=(?=(?=.*).*).*).*)Z")

    def search_on() -> None:
        for _ in range(10_000):
            pattern.search("a" * 63)

    with pytest.raises(InputError, match="too many steps"):
        search_on()


PIECES = st.sampled_from(["a", "b", "0", ".", r"\d", "[ab]", "[^a]", "(?:a|b)", "(?=b)", "(?!a)", "^", "$", r"\b", "|"])
TIMES = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{0,2}", "*?"])


@given(st.lists(st.tuples(PIECES, TIMES), max_size=7), st.text("ab0.", max_size=8))
def test_agrees_with_pythons_re_where_both_mean_the_same(parts: list[tuple[str, str]], name: str) -> None:
    pattern = "".join(piece + ("" if piece in ("|", "^", "$", r"\b", "(?=b)", "(?!a)") else t) for piece, t in parts)
    assert found(pattern, name) == (re.search(pattern, name, re.ASCII) is not None)


@given(st.text("ab.*+?()[]{}|^$-\\1,2:=!d", max_size=12))
def test_any_text_is_a_pattern_or_a_sentence(pattern: str) -> None:
    with contextlib.suppress(InputError):
        found(pattern)


def test_the_value_of_one_flag() -> None:
    assert parse_overrides("a=CPU,b|c=CUDA0") == (Override("a", "CPU"), Override("b|c", "CUDA0"))
    for wrong in ("", "exps", "exps=", "a{1,2}=CPU"):
        with pytest.raises(InputError, match="is not PATTERN=BUFFER TYPE"):
            parse_overrides(wrong)
    with pytest.raises(InputError, match="unknown buffer type"):
        check_bufts([Override("a", "CUDA_Host")], ["CPU", "CUDA0"])


def test_examples_in_the_documentation() -> None:
    assert doctest.testmod(pattern_module).failed == doctest.testmod(overrides_module).failed == 0


def test_patterns_that_are_asked_together_share_their_steps() -> None:
    budget = Budget()
    names = [f"blk.{layer}.{'ab' * 25}" for layer in range(200)]

    def ask_all() -> None:
        for number in range(300):
            compiled = compile_pattern(f"(a|b|.)*{number}.*.*.*x$", budget)
            assert not any(compiled.search(name) for name in names)

    with pytest.raises(InputError, match=r"takes too many steps; make it and those before it simpler"):
        ask_all()
