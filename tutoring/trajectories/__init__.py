"""Recorded sessions as files: export formats and importers."""
