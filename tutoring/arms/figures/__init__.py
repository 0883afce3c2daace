"""Figures of arms: sessions of people compared with sessions of policies on the same problems (docs/arms.md)."""

from tutoring.arms.figures.contrasts import (
    Contrast,
    EquivalentFigure,
    Rate,
    RatioFigure,
)
from tutoring.arms.figures.documents import (
    equivalent_set,
    figures_csv,
    figures_document,
    figures_text,
    ratio_text,
)
from tutoring.arms.figures.figures import ArmFigures, arm_figures
from tutoring.arms.figures.rows import ArmRows, ArmsError, LeftOut

__all__ = [
    "ArmFigures",
    "ArmRows",
    "ArmsError",
    "Contrast",
    "EquivalentFigure",
    "LeftOut",
    "Rate",
    "RatioFigure",
    "arm_figures",
    "equivalent_set",
    "figures_csv",
    "figures_document",
    "figures_text",
    "ratio_text",
]
