"""Studies: frozen designs, concealed assignment, conduct, looks and figures (docs/studies.md)."""
