"""Drawings and data of plots."""

import csv
import io
import re
from math import inf
from xml.etree import ElementTree

import pytest

from benchmark.plots import (
    DOLLARS,
    FACTORS,
    POINTS,
    SHARES,
    Curve,
    CurvePlot,
    CurvePoint,
    ForestPlot,
    ForestRow,
    HeatMap,
    HeatRow,
    PlanePlot,
    PlanePoint,
    PlaneValue,
    Plot,
    sparkline,
)
from benchmark.views.plots import file_style

SVG = "{http://www.w3.org/2000/svg}"
NAME = "p < q & <b>r</b>"

CURVES = CurvePlot(
    name="curves", title=NAME, x_name="k", y_name="percent",
    curves=[
        Curve(NAME, (CurvePoint(1, 100 / 3, 10.0, 60.0, 12, "run"), CurvePoint(10, 50.0))),
        Curve("second", (CurvePoint(2, 0.0),)),
    ],
)  # fmt: skip
FOREST = ForestPlot(
    name="forest", title=NAME, scale=POINTS, axis="difference, points",
    estimates=[
        ForestRow(NAME, 0.1, -0.025, 1 / 3, 40, "t"),
        ForestRow("unbounded", -0.2, -inf, 0.4, 12, "Fieller", kind=1),
        ForestRow("without", 0.0, None, None, 2),
    ],
)  # fmt: skip
PLANE = PlanePlot(
    name="plane", title=NAME, x_scale=DOLLARS, y_scale=POINTS, x_name="dollars", y_name="gain, points",
    points=[
        PlanePoint(NAME, PlaneValue(0.25), PlaneValue(0.1, -0.025, 0.3), 12),
        PlanePoint("free", PlaneValue(0.0), PlaneValue(-0.2, -0.4, 0.1), 8),
    ],
)  # fmt: skip
LEAKS = PlanePlot(
    name="leaks", title=NAME, x_scale=POINTS, y_scale=POINTS, x_name="leak & more", y_name="gain",
    points=[
        PlanePoint(NAME, PlaneValue(0.5, 0.4, 0.6), PlaneValue(-0.1, -0.2, 0.05), 12, kind=2),
        PlanePoint("second", PlaneValue(0.0, -0.05, 0.05), PlaneValue(0.3, 0.2, 0.4), 8),
    ],
)  # fmt: skip
HEAT = HeatMap(
    name="heat", title=NAME, columns=["a", "b & c", "d"],
    heat_rows=[HeatRow(NAME, [1.0, 0.0, None]), HeatRow("second", [0.25, None, 0.5])],
)  # fmt: skip


def rows_of(plot: Plot) -> list[list[str]]:
    return list(csv.reader(io.StringIO(plot.csv())))


def texts_of(drawn: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in drawn.iter() if text.tag.endswith("text")]


@pytest.mark.parametrize("plot", [CURVES, FOREST, HEAT, PLANE, LEAKS], ids=lambda plot: plot.name)
def test_files_are_self_contained_and_escaped(plot: Plot) -> None:
    text = plot.svg_file(file_style())
    drawn = ElementTree.fromstring(text)
    assert drawn.tag == f"{SVG}svg"
    assert drawn.findtext(f"{SVG}title") == NAME
    assert NAME in texts_of(drawn), "the title is drawn"
    style = drawn.findtext(f"{SVG}style")
    assert style
    assert ".plot-page { fill: #ffffff; }" in style
    assert "var(" not in style
    assert "light-dark" not in style
    assert not re.search(r"href|url\(|@import|<script|<b>", text)
    width, height = (float(drawn.get(side, "0")) for side in ("width", "height"))
    assert drawn.get("viewBox") == f"0 0 {width:.0f} {height:.0f}"
    places = [float(one.get("y", "0")) for one in drawn.iter(f"{SVG}text")]
    assert max(places) <= height


@pytest.mark.parametrize("plot", [CURVES, FOREST, HEAT, PLANE, LEAKS], ids=lambda plot: plot.name)
def test_pages_have_a_text_alternative(plot: Plot) -> None:
    drawn = ElementTree.fromstring(plot.drawing().svg())
    assert drawn.get("role") == "img"
    assert len(drawn.get("aria-label", "")) > 10


def test_a_curve_has_all_points_with_intervals_and_numbers() -> None:
    assert rows_of(CURVES) == [
        ["curve", "k", "percent", "low", "high", "problems"],
        [NAME, "1", repr(100 / 3), "10.0", "60.0", "12"],
        [NAME, "10", "50.0", "", "", ""],
        ["second", "2", "0.0", "", "", ""],
    ]
    assert "second" in texts_of(ElementTree.fromstring(CURVES.svg_file("")))
    assert "second" not in texts_of(ElementTree.fromstring(CURVES.drawing().svg())), "its legend is the table"


def test_labels_of_near_columns_do_not_cover_each_other() -> None:
    points = tuple(CurvePoint(x, 1.0) for x in (1, 2, 3, 5, 100))
    drawn = (
        CurvePlot(name="n", title="t", curves=[Curve("c", points)], x_name="x", y_name="y").drawing().svg()
    )
    shown = texts_of(ElementTree.fromstring(drawn))
    assert "1" in shown
    assert "100" in shown
    assert "2" not in shown


def test_a_forest_plot_shows_numbers_intervals_and_no_difference() -> None:
    assert rows_of(FOREST) == [
        ["name", "difference, points", "low", "high", "problems", "method"],
        [NAME, "10.0", "-2.5", "33.3333333333333", "40", "t"],
        ["unbounded", "-20.0", "-inf", "40.0", "12", "Fieller"],
        ["without", "0.0", "", "", "2", ""],
    ]
    drawn = ElementTree.fromstring(FOREST.drawing().svg())
    shown = texts_of(drawn)
    for text in ("+10.0 [−2.5, +33.3]", "−20.0 [−∞, +40.0]", "0, no interval", "difference, points"):
        assert text in shown
    classes = [one.get("class") for one in drawn.iter()]
    assert classes.count("no-difference") == 1
    assert classes.count("cut") == 1, "an arrow marks the end that is not on the axis"
    assert classes.count("error") == 2
    assert "No difference is 0." in drawn.get("aria-label", "")
    [reference] = [one for one in drawn.iter() if one.get("class") == "no-difference"]
    marks = [one for one in drawn.iter() if one.get("class") == "mark"]
    assert float(marks[0].get("cx", "0")) > float(reference.get("x1", "0")) > float(marks[1].get("x", "0"))


def test_no_line_crosses_the_names_and_numbers_of_a_forest_plot() -> None:
    drawing = FOREST.drawing()
    shown = list(ElementTree.fromstring(drawing.svg()))
    kinds = [one.get("class") for one in shown]
    last_line = max(place for place, kind in enumerate(kinds) if kind in ("grid", "no-difference"))
    texts = [
        place
        for place, one in enumerate(shown)
        if kinds[place] == "forest-name" or (one.text or "").endswith(("]", "no interval"))
    ]
    assert len(texts) >= 6
    for place in texts:
        paper = max(before for before in range(place) if kinds[before] == "plot-page")
        assert paper > last_line
        top, height = (float(shown[paper].get(name, "0")) for name in ("y", "height"))
        assert float(shown[paper].get("width", "0")) == drawing.width
        assert (
            top <= float(shown[place].get("y", "0")) - 10 <= float(shown[place].get("y", "0")) < top + height
        )


def test_a_plane_shows_intervals_in_both_directions_and_both_lines_without_a_difference() -> None:
    drawn = ElementTree.fromstring(LEAKS.drawing().svg())
    assert {"1", "2", "leak & more", "gain"} <= set(texts_of(drawn))
    lines = [one.get("class") for one in drawn.iter() if one.tag.endswith("line")]
    assert (lines.count("error"), lines.count("no-difference")) == (4, 2)
    assert "second: +30.0 [+20.0, +40.0] at 0 [−5.0, +5.0]" in LEAKS.drawing().label
    assert rows_of(LEAKS)[1] == [NAME, "50.0", "40.0", "60.0", "-10.0", "-20.0", "5.0", "12"]


def test_long_names_of_a_forest_plot_are_wrapped() -> None:
    name = "episodic+reflexion, openai:gpt-4-1106-preview, usaco, profile usaco-paper, p=4"
    plot = ForestPlot(name="n", title="t", estimates=[ForestRow(name, 0.5, 0, 1, 3)], scale=SHARES, axis="a")
    names = [
        one.text or "" for one in ElementTree.fromstring(plot.drawing().svg()).iter()
        if one.get("class") == "forest-name"
    ]  # fmt: skip
    assert len(names) > 1
    assert " ".join(names) == name
    assert "50 % [0, 100]" in plot.drawing().svg()


def test_factors_have_a_logarithmic_axis() -> None:
    rows = [ForestRow("half", 0.5, 0.25, 1.0, 3), ForestRow("double", 2.0, 1.0, 4.0, 3)]
    drawn = ElementTree.fromstring(
        ForestPlot(name="n", title="t", estimates=rows, scale=FACTORS, axis="a").drawing().svg()
    )
    [reference] = [one for one in drawn.iter() if one.get("class") == "no-difference"]
    half, double = (float(one.get("cx", "0")) for one in drawn.iter() if one.get("class") == "mark")
    middle = float(reference.get("x1", "0"))
    assert middle - half == pytest.approx(double - middle, abs=0.2)


def test_a_heat_map_fills_cells_up_to_their_shares() -> None:
    assert rows_of(HEAT) == [
        ["run", "problem", "share solved"],
        [NAME, "a", "1.0"], [NAME, "b & c", "0.0"], [NAME, "d", ""],
        ["second", "a", "0.25"], ["second", "b & c", ""], ["second", "d", "0.5"],
    ]  # fmt: skip
    drawn = ElementTree.fromstring(HEAT.drawing().svg())
    levels = [one.get("class", "") for one in drawn.iter("path")]
    strips, legend = levels[:6], levels[6:]
    assert sorted(strips) == sorted(
        ["heat-all", "heat-none", "heat-untried", "heat-some", "heat-most", "heat-untried"]
    )
    assert legend == ["heat-none", "heat-some", "heat-most", "heat-all", "heat-untried"]
    assert "2 problems tried, 50.0 % solved" in drawn.get("aria-label", "")


def test_equal_neighbours_of_a_heat_map_are_one_shape() -> None:
    many = HeatMap(name="n", title="t", columns=["c"] * 1000, heat_rows=[HeatRow("r", [1.0] * 1000)])
    assert len(many.drawing().svg()) < 3000


def test_sparklines_are_hidden_from_readers_of_screens() -> None:
    drawn = sparkline([0.0, 0.5, 1.0])
    assert 'aria-hidden="true"' in drawn
    assert 'points="2.0,16.0 32.0,9.0 62.0,2.0"' in drawn
    assert sparkline([0.5]) == ""


def test_a_plane_places_points_by_both_values_and_names_them_in_its_legend_and_text_alternative() -> None:
    drawn = PLANE.drawing()
    assert "free: −20.0 [−40.0, +10.0] at 0 dollars" in drawn.label
    marks = r'cx="([\d.]+)" cy="([\d.]+)" r="4.5"|<rect class="mark" x="([\d.]+)" y="([\d.]+)"'
    circle, _legend, square = re.findall(marks, drawn.svg())[:3]
    assert float(circle[0]) > float(square[2]), "dearer points are to the right"
    assert float(circle[1]) < float(square[3]), "higher gains are above"
    assert "no-difference" in drawn.svg()
    assert rows_of(PLANE) == [
        ["name", "dollars", "low", "high", "gain, points", "low", "high", "problems"],
        [NAME, "0.25", "", "", "10.0", "-2.5", "30.0", "12"],
        ["free", "0.0", "", "", "-20.0", "-40.0", "10.0", "8"],
    ]


def test_a_plane_of_free_arms_has_an_axis() -> None:
    free = PlanePlot(
        name="plane", title="", x_scale=DOLLARS, y_scale=POINTS, x_name="x", y_name="y",
        points=[PlanePoint("one", PlaneValue(0.0), PlaneValue(0.0, 0.0, 0.0), 1)],
    )  # fmt: skip
    assert "nan" not in free.drawing().svg()
