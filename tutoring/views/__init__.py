"""The pages, commands and sockets of tutoring."""
