"""Heartbeats: the rows that say which streamers and workers run, on which host, in which version, and what they do.

The package also contains what web servers, streamers and workers have in common while they run.
"""

from benchmark.processes.clock import clock_difference, describe_difference, differing_clocks
from benchmark.processes.garbage import exclude_loaded_objects
from benchmark.processes.heartbeat import Heartbeat, sending_heartbeats
from benchmark.processes.overview import REQUIRED, Outage, differing_versions, outage_of, outages, running
from benchmark.processes.version import source_version

__all__ = [
    "REQUIRED",
    "Heartbeat",
    "Outage",
    "clock_difference",
    "describe_difference",
    "differing_clocks",
    "differing_versions",
    "exclude_loaded_objects",
    "outage_of",
    "outages",
    "running",
    "sending_heartbeats",
    "source_version",
]
