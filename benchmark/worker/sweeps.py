"""Sweeps: regular searches for work whose job, worker or notification was lost."""

import logging
import threading

import redis
from django.conf import settings
from django.db import DatabaseError, close_old_connections
from django.utils.module_loading import import_string

from benchmark.models.leases import SEARCH_INTERVAL

logger = logging.getLogger(__name__)


def start_sweeping() -> None:
    """Sweep every SEARCH_INTERVAL seconds, in a thread that ends with the process.

    A worker that performs a long job sweeps too: another worker may be idle.
    """
    threading.Thread(target=_sweep_regularly, name="sweeps", daemon=True).start()


def _sweep_regularly() -> None:
    pause = threading.Event()
    while not pause.wait(SEARCH_INTERVAL):
        sweep()


def sweep() -> None:
    """Call every function of `settings.WORKER_SWEEPS`. One that fails is logged and delays none of the others."""
    for name in settings.WORKER_SWEEPS:
        close_old_connections()
        try:
            import_string(name)()
        except (DatabaseError, redis.RedisError) as error:  # the next sweep may find the server again
            logger.warning("the sweep %s failed: %s", name, error)
        except Exception:
            logger.exception("the sweep %s failed", name)
        finally:
            close_old_connections()
