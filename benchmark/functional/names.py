"""The names that programs for functional problems use without importing them, as other judges provide them.

This module runs in the sandbox with Python 3.8 or newer.
"""

from __future__ import annotations

from typing import Any

_IMPORTS = """
import bisect, collections, copy, functools, heapq, itertools, math, operator, random, re, string, sys
from bisect import bisect_left, bisect_right, insort
from collections import Counter, OrderedDict, defaultdict, deque
from copy import deepcopy
from functools import cache, cmp_to_key, lru_cache, reduce
from heapq import heapify, heappop, heappush, nlargest, nsmallest
from itertools import accumulate, chain, combinations, permutations, product
from math import ceil, comb, floor, gcd, inf, sqrt
from random import choice, randint, randrange, shuffle, uniform
from typing import *
"""


def usual_names() -> dict[str, Any]:
    """Return the namespace for a program, without names that this version of Python lacks."""
    from hintbench_values import ListNode, TreeNode

    names: dict[str, Any] = {"__name__": "solution", "TreeNode": TreeNode, "ListNode": ListNode}
    for line in _IMPORTS.strip().split("\n"):
        try:
            exec(line, names)  # noqa: S102  (fixed text)
        except ImportError:  # an older version of Python
            continue
    return names


def find_function(names: dict[str, Any], function: str, classes: tuple[str, ...] = ()) -> Any:
    """Return the method of a new object of one of these classes, else of any class, else the plain function.

    Raises AttributeError if there is none.
    """
    found = [names[name] for name in classes if name in names]
    found += [one for one in names.values() if isinstance(one, type) and one.__module__ == "solution"]
    for one in found:
        if callable(getattr(one, function, None)):
            return getattr(one(), function)
    if callable(names.get(function)):
        return names[function]
    raise AttributeError(f"there is no method or function {function}")
