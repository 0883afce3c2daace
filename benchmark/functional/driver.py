"""Run a program for a functional problem on the values on standard input and print the result.

This file runs in the sandbox as main.py, beside the program, with Python 3.8 or newer.
"""

from __future__ import annotations

import os
import sys

from hintbench_calls import load, with_deep_stack

printed = sys.stdout


def answer() -> None:
    call = load(os.path.dirname(os.path.abspath(__file__)))
    printed.write(call(sys.stdin.read()) + "\n")


went_well = with_deep_stack(answer)
sys.stdout = printed
if not went_well:
    sys.exit(1)
