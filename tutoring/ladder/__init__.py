"""The ladder of help: the help curve, the comparison by level cap, and intended against settled levels."""
