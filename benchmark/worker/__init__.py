"""The worker process: takes jobs from the queues and runs only those that the settings list."""
