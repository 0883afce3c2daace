"""Streamed replies: the process that requests them and the writes it makes."""
