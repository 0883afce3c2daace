"""The progress of a run while it is executed."""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmark.model_calls.budget import Spending

logger = logging.getLogger(__name__)


@dataclass
class ExecutionProgress:
    """The progress of a run; `spent` is the spending of all its processes, `tutor_spent` that of the tutor's model.

    `failures` counts failed items by kind of fault. `batched` is the number of requests that the provider has in
    batches, `answered` the number of them with a reply. `on_change` is called after each change; `report` gets messages
    for the user.
    """

    done: int = 0
    solved: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    batched: int = 0
    answered: int = 0
    spent: Spending = field(default_factory=Spending)
    tutor_spent: Spending = field(default_factory=Spending)
    on_change: Callable[["ExecutionProgress"], None] = lambda _progress: None
    report: Callable[[str], object] = logger.warning
