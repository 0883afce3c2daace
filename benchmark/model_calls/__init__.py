"""Model calls: rate limits, budgets, batches, heartbeats and the rows that record their cost."""

from benchmark.model_calls.batches import IN_BATCHES
from benchmark.model_calls.budget import Budget, Price, Spending
from benchmark.model_calls.rate_limit import Limits
from benchmark.model_calls.stopping import Stop

__all__ = ["IN_BATCHES", "Budget", "Limits", "Price", "Spending", "Stop"]
