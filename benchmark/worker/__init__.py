"""The worker process: runs the jobs and sweeps that the settings list, and nothing else."""
