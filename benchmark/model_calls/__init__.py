"""Model calls: rate limits, budgets, batches, heartbeats and the rows that record their cost."""

from benchmark.model_calls.batches import IN_BATCHES
from benchmark.model_calls.budget import Price, RunBudget, Spending
from benchmark.model_calls.rate_limit import RateLimits
from benchmark.model_calls.stopping import Stop

__all__ = ["IN_BATCHES", "Price", "RateLimits", "RunBudget", "Spending", "Stop"]
