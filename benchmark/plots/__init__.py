"""Plots of pages: each has a drawing (SVG) and a table (CSV). Colours and lines are classes of static/css/plots.css.

Nothing is distinguished by colour alone: marks, dashes and sizes differ too, and pages list the values.
"""

from benchmark.plots.curves import Curve, CurvePlot, CurvePoint, sparkline
from benchmark.plots.drawing import Drawing, curve_class, mark, mark_svg
from benchmark.plots.forest import FACTORS, POINTS, RATIOS, SHARES, SLOPES, ForestPlot, ForestRow, ValueScale
from benchmark.plots.heat import HeatMap, HeatRow, heat_level
from benchmark.plots.plane import DOLLARS, PlanePlot, PlanePoint, PlaneValue
from benchmark.plots.plot import Plot

__all__ = [
    "DOLLARS",
    "FACTORS",
    "POINTS",
    "RATIOS",
    "SHARES",
    "SLOPES",
    "Curve",
    "CurvePlot",
    "CurvePoint",
    "Drawing",
    "ForestPlot",
    "ForestRow",
    "HeatMap",
    "HeatRow",
    "PlanePlot",
    "PlanePoint",
    "PlaneValue",
    "Plot",
    "ValueScale",
    "curve_class",
    "heat_level",
    "mark",
    "mark_svg",
    "sparkline",
]
