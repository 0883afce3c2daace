"""The ladder of help: estimators of the help curve and of the comparison by level cap, and their calibration."""
