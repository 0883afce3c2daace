"""Values of functional problems as text: one JSON value per line, trees and linked lists as lists (docs/spec.md 10.8).

This module runs in the sandbox beside programs under test, with only the standard library of Python 3.8 or newer.
"""

from __future__ import annotations

import json
from typing import Any


class TreeNode:
    """A node of a binary tree with the attribute names of such problems."""

    def __init__(self, val: Any = 0, left: Any = None, right: Any = None) -> None:
        self.val, self.left, self.right = val, left, right


class ListNode:
    """A node of a singly linked list."""

    def __init__(self, val: Any = 0, next: Any = None) -> None:
        self.val, self.next = val, next


def read_arguments(text: str, types: list[str], names: dict[str, Any]) -> list[Any]:
    """Return the arguments on the lines of an input. `names` contains the node classes. Raises ValueError."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) != len(types):
        raise ValueError(f"the input has {len(lines)} lines, the method {len(types)} parameters")
    return [_argument(json.loads(line), kind, names) for line, kind in zip(lines, types)]  # noqa: B905  (Python 3.8)


def write_arguments(arguments: Any) -> str:
    """Return the input for `read_arguments`. Raises ValueError and TypeError for values without a JSON form."""
    return "".join(write(argument, "") + "\n" for argument in arguments)


def write(value: Any, kind: str) -> str:
    """Return a value as JSON without spaces. An empty tree or linked list, according to `kind`, is `[]`.

    Numbers of a type with `float` are separated by spaces, so that each is compared within a tolerance.
    """
    if value is None and _node_type(kind):
        return "[]"
    apart = "float" in kind
    text = json.dumps(_plain(value), separators=(" , ", " : ") if apart else (",", ":"))
    return text.replace("[", "[ ").replace("]", " ]") if apart else text


def _node_type(kind: str) -> str:
    """Return the node class in an annotation, also of a list of nodes, or "" if there is none."""
    return next((name for name in ("TreeNode", "ListNode") if name in kind), "")


def _argument(value: Any, kind: str, names: dict[str, Any]) -> Any:
    node = _node_type(kind)
    if not node:
        return value
    build = _tree if node == "TreeNode" else _linked_list
    if kind.lower().startswith("list["):
        return [build(one, names[node]) for one in value]
    return build(value, names[node])


def _tree(values: list[Any], node: Any) -> Any:
    """Return the tree of a list in level order, with `null` for a missing child."""
    if not values or values[0] is None:
        return None
    nodes = [node(values[0])]
    place = 1
    for parent in nodes:
        for side in ("left", "right"):
            if place < len(values) and values[place] is not None:
                child = node(values[place])
                setattr(parent, side, child)
                nodes.append(child)
            place += 1
    return nodes[0]


def _linked_list(values: list[Any], node: Any) -> Any:
    first = None
    for value in reversed(values):
        before, first = first, node(value)
        first.next = before
    return first


def _plain(value: Any) -> Any:
    """Return the value with nodes of any class, and tuples, as lists."""
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if hasattr(value, "val") and hasattr(value, "left") and hasattr(value, "right"):
        return _levels(value)
    if hasattr(value, "val") and hasattr(value, "next"):
        values = []
        while value is not None:
            values.append(value.val)
            value = value.next
        return values
    return value


def _levels(root: Any) -> list[Any]:
    values: list[Any] = []
    nodes = [root]
    for node in nodes:
        values.append(None if node is None else node.val)
        if node is not None:
            nodes += [node.left, node.right]
    while values and values[-1] is None:
        values.pop()
    return values
