"""Signals about rows, for packages above this one."""

from django.dispatch import Signal

items_finished = Signal()
"""Sent with `run` and `items` in the transaction that finishes items, in the process that holds their leases.

An item is not done if its claim was lost meanwhile. An exception of a receiver leaves its items unfinished; it is
stored as their fault.
"""

run_imported = Signal()
"""Sent with `run` in the transaction of an import, for each run of the folder that was imported now or before.

A receiver returns a sentence for the person who imports, or blank.
"""

concealed_spending = Signal()
"""Sent with `person` before a page shows what models spend.

A receiver returns the keys of the studies whose models the person must not see (`DailySpend.study_key`).
"""
