"""Checks of drafts, messages and recorded sessions by detectors and models."""
