"""Signals about rows, for packages above this one."""

from django.dispatch import Signal

items_finished = Signal()
"""Sent with `run` and `items` in the transaction that finishes items, in the process that holds their leases.

An item is not done if its claim was lost meanwhile. An exception of a receiver leaves its items unfinished; it is
stored as their fault.
"""
