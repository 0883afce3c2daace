"""Recorded sessions as files: schemas, export formats and importers."""
