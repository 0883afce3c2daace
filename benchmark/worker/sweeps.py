"""Sweeps: regular searches for work whose job, worker or notification was lost."""

import logging
import threading

import redis
from django.db import DatabaseError, close_old_connections
from django.utils.module_loading import import_string

from benchmark.models.leases import SEARCH_INTERVAL
from benchmark.worker.kinds import WorkerKind

logger = logging.getLogger(__name__)


def start_sweeping(kind: WorkerKind) -> None:
    """Sweep every SEARCH_INTERVAL seconds, in a thread that ends with the process.

    A worker that performs a long job sweeps too: another worker may be idle.
    """
    threading.Thread(target=_sweep_regularly, args=(kind,), name="sweeps", daemon=True).start()


def _sweep_regularly(kind: WorkerKind) -> None:
    pause = threading.Event()
    while not pause.wait(SEARCH_INTERVAL):
        sweep(kind)


def sweep(kind: WorkerKind) -> None:
    """Call every sweep of this kind of worker. One that fails is logged and delays none of the others."""
    for name in kind.sweeps:
        close_old_connections()
        try:
            import_string(name)()
        except (DatabaseError, redis.RedisError) as error:  # the next sweep may find the server again
            logger.warning("the sweep %s failed: %s", name, error)
        except Exception:
            logger.exception("the sweep %s failed", name)
        finally:
            close_old_connections()
