"""Outputs are compared like ICPC's default output validator and like the USACO benchmark."""

import ctypes
import math
from decimal import Decimal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from judge import Checker, check
from judge.checking.checkers import parse_number

SPACE = st.text(" \t\n\r\v\f", min_size=1, max_size=3).map(str.encode)
TOKEN = st.text("aAbB01.-+eExX\0é", min_size=1, max_size=6).map(str.encode)


def accepted(flags: str, output: bytes | str, answer: bytes | str) -> bool:
    output, answer = (text.encode() if isinstance(text, str) else text for text in (output, answer))
    return check(Checker.from_flags(flags.split()), output, answer).accepted


@pytest.mark.parametrize(
    ("flags", "answer", "right", "wrong"),
    [
        ("", "", ["", " ", "\n\n", "\t"], ["a", "0", "\0", " 0 "]),
        ("", "a B\n", ["a B", "A b", " a\n\nB \r\n", "a\tB", "a\vB\f"], ["a", "aB", "a B c", "c a B", "a b B"]),
        ("", "1.0", ["1.0", "1.0\n"], ["1", "1.00", "01.0", "1.0 0"]),
        ("", "é", ["é"], ["É", "e"]),  # only ASCII letters have a case
        ("case_sensitive", "a B", ["a B", " a  B "], ["A B", "a b"]),
        ("space_change_sensitive", "a b\n", ["a b\n", "A B\n"], ["a b", "a  b\n", "a\tb\n", " a b\n", "a b\n\n"]),
        ("space_change_sensitive", "", [""], [" ", "\n", "a"]),
        ("space_change_sensitive", "a b\r\n", ["a b\r\n"], ["a b\n"]),
        ("space_change_sensitive case_sensitive", "a B", ["a B"], ["a b", "a  B"]),
        ("float_tolerance 1e-2", "1.00", ["1", "1.009", "100e-2", "0x1p0", "+1"], ["1.02", "x", "1x", "nan", ""]),
        ("float_tolerance 1e-2", "1000", ["1010", "990", "1e3"], ["1011", "989", "inf"]),
        ("float_tolerance 1e-2", "0", ["0.01", "-0.01", "0", "-0"], ["0.011", "-0.011"]),
        ("float_tolerance 1e-2", "x 1", ["X 1.009", "x 1"], ["y 1", "1 x"]),
        ("float_tolerance 1e-2", "1_0", ["1_0"], ["10", "10.0"]),  # not a number, so compared as text
        ("float_absolute_tolerance 1e-2", "1000", ["1000.01", "999.99"], ["1000.02", "1001"]),
        ("float_relative_tolerance 1e-2", "1000", ["1010", "990"], ["1011", "989"]),
        ("float_relative_tolerance 1e-2", "0", ["0", "0.0", "-0"], ["0.001", "1e-300"]),
        ("float_absolute_tolerance 0", "0.5", ["0.5", ".50", "5e-1"], ["0.50001"]),
        ("float_absolute_tolerance 1 float_relative_tolerance 1e-3", "10000", ["10010", "10001"], ["10011"]),
        ("float_tolerance 1e-6", "inf nan", [], ["inf nan", "1 1"]),  # their difference is not a number
        ("float_tolerance 1e-6 case_sensitive", "A 1.0", ["A 1"], ["a 1"]),
        ("float_tolerance 1e-6 space_change_sensitive", "1.0 2.0\n", ["1 2\n"], ["1  2\n", "1 2"]),
    ],
)  # fmt: skip
def test_flags_of_the_default_validator(flags: str, answer: str, right: list[str], wrong: list[str]) -> None:
    assert [output for output in right if not accepted(flags, output, answer)] == []
    assert [output for output in wrong if accepted(flags, output, answer)] == []


@pytest.mark.parametrize(
    "flags",
    ["float_tolerance", "float_tolerance x", "float_tolerance -1", "float_tolerance nan", "unknown", "1e-6"],
)
def test_flags_that_the_default_validator_does_not_have_are_refused(flags: str) -> None:
    with pytest.raises(ValueError, match=r"flag|tolerance"):
        Checker.from_flags(flags.split())


@pytest.mark.parametrize("beginning", ["", "0x", "0.", "1e"])
def test_a_long_token_of_digits_takes_no_long_time(beginning: str) -> None:
    """Time that grew with the square of the length would be hours for these tokens."""
    assert not accepted("float_tolerance 1e-6", beginning + "1" * 1_000_000 + "x", "1")


@given(
    st.text("0123456789.eExXpPinfatyNIFA+-_ \0(", max_size=8).filter(lambda text: not set(text) & set(" \0"))
)
@example("infinit")
@example("nan(1)")
@example("0x")
@example("0x.p1")
@example("0x.")
@example("1e400")
@example("0x1p99999")
@example("1_0")
@example("-.e1")
@example("1e")
@example("0x1p+")
@example("infe")
def test_a_number_is_what_the_c_library_reads_as_one(text: str) -> None:
    value = ctypes.c_double()
    trash = ctypes.create_string_buffer(32)
    read = ctypes.CDLL(None).sscanf(text.encode(), b"%lf%10s", ctypes.byref(value), trash)
    number = parse_number(text.encode())
    assert (number is not None) == (read == 1)
    if number is not None:
        assert number == value.value or (math.isnan(number) and math.isnan(value.value))


@pytest.mark.slow
@given(st.lists(st.tuples(TOKEN, SPACE, SPACE)))
def test_blanks_between_tokens_do_not_matter_without_a_flag(pieces: list[tuple[bytes, bytes, bytes]]) -> None:
    output = b"".join(token + space for token, space, _ in pieces)
    answer = b"".join(token + space for token, _, space in pieces)
    assert accepted("case_sensitive", output, answer)
    assert accepted("", output.lower(), answer)
    assert accepted("space_change_sensitive", output, answer) == (output.lower() == answer.lower())


@given(st.lists(TOKEN), st.lists(TOKEN), SPACE)
def test_token_comparison_is_comparison_of_the_lists_of_tokens(
    left: list[bytes], right: list[bytes], space: bytes
) -> None:
    assert accepted("case_sensitive", space.join(left), space.join(right)) == (left == right)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_tolerance_is_absolute_or_relative_to_the_answer(found: float, expected: float) -> None:
    close = abs(found - expected) <= 1e-3 or abs(found - expected) <= 1e-3 * abs(expected)
    assert accepted("float_tolerance 1e-3", repr(found), repr(expected)) == close


DECIMALS = st.decimals(-(10**6), 10**6, places=9)


@given(DECIMALS, st.decimals(-1, 1, places=12), st.sampled_from(["1e-4", "1e-6", "0.5"]))
def test_tolerance_agrees_with_exact_decimals_but_for_the_last_digits(
    expected: Decimal, difference: Decimal, tolerance: str
) -> None:
    found, allowed = expected + difference, Decimal(tolerance)
    bounds = allowed, allowed * abs(expected)
    right = accepted(f"float_tolerance {tolerance}", str(found), str(expected))
    if all(abs(abs(difference) - bound) > Decimal("1e-9") for bound in bounds):
        assert right == (abs(difference) <= max(bounds))


@settings(max_examples=20)
@given(st.integers(2**15, 2**17), st.sampled_from([b" ", b"\n"]))
def test_outputs_longer_than_one_chunk_are_compared_to_their_end(length: int, space: bytes) -> None:
    long = b"ab" * (length // 2) + space + b"c" * length + space
    assert accepted("float_tolerance 0.5", long + b"1", long + b"2")
    assert not accepted("float_tolerance 0.5", long + b"1", long + b"3")
    assert not accepted("", long + b"1", long)


@pytest.mark.parametrize(
    ("output", "right"),
    [
        (b"1 2\n3\n", True),
        (b"  1 2\n3", True),
        (b"1 2\r\n3\r\n\n", True),
        (b"1 2 \n3\n", False),
        (b"1  2\n3", False),
        (b"1 2\n\n3", False),
        (b"1 2\n3 4", False),
        (b"passed", False),
        (b"\xff\xfe", False),
        (b"", False),
    ],
)
def test_exact_comparison_ignores_only_white_space_at_both_ends(output: bytes, right: bool) -> None:
    assert check(Checker("exact"), output, b"1 2\n3\n").accepted is right


def test_exact_comparison_knows_letter_case() -> None:
    assert not check(Checker("exact"), b"yes", b"YES").accepted


@given(st.binary(), st.binary(), st.sampled_from(["exact", "tokens"]))
def test_any_bytes_can_be_compared_and_a_refusal_has_a_reason(output: bytes, answer: bytes, kind) -> None:
    assert check(Checker(kind), output, output).accepted
    result = check(Checker(kind), output, answer)
    assert bool(result.message) != result.accepted
    assert result.message.isprintable()


def test_the_message_states_position_and_values() -> None:
    result = check(Checker(), b"1 2 4", b"1 2 3")
    assert result.message == "token 3: expected '3', got '4'"
    assert "ends here" in check(Checker(), b"1", b"1 2").message
    assert len(check(Checker(), b"x" * 10**6, b"y" * 10**6).message) < 200


@given(
    st.builds(
        Checker,
        kind=st.sampled_from(["exact", "tokens"]),
        case_sensitive=st.booleans(),
        space_change_sensitive=st.booleans(),
        float_absolute=st.none() | st.floats(0, 1),
        float_relative=st.none() | st.floats(0, 1),
    )
)
def test_checkers_survive_their_json_form(checker: Checker) -> None:
    assert Checker.from_json(checker.to_json()) == checker


@pytest.mark.parametrize(
    "data", [{"kind": "fuzzy"}, {"kind": "tokens", "colour": 1}, {"float_absolute": -1.0}]
)
def test_json_that_is_no_checker_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"checker|tolerance"):
        Checker.from_json(data)
