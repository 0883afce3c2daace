"""Plots on pages: each is drawn in the page, and the address of the page also sends it as a file.

`?plot=NAME&as=svg` or `as=csv`, added to the address of a page, sends one of its plots. So a file has the permissions
and the data of its page.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString, mark_safe

from benchmark.plots import Plot
from benchmark.views.downloads import file_download

_TOKEN = re.compile(r"--([\w-]+):\s*(?:light-dark\(([^,]+),[^)]*\)|([^;]+));")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_FORMS = {"svg": "image/svg+xml", "csv": "text/csv"}


def simulated_mark(simulated: bool) -> str:
    """Return the end of the title of a plot whose figures are simulated, blank for others."""
    return " (simulated)" if simulated else ""


@dataclass(frozen=True)
class ShownPlot:
    """A plot for a template. `query` is the query string of the page, without those of files and with its &."""

    plot: Plot
    query: str

    @property
    def svg(self) -> SafeString:
        """The drawing as an <svg> element."""
        return mark_safe(self.plot.drawing().svg())  # noqa: S308  drawings escape every text

    @property
    def svg_address(self) -> str:
        """The address of the drawing as a file."""
        return self._address("svg")

    @property
    def csv_address(self) -> str:
        """The address of the data as a file."""
        return self._address("csv")

    def _address(self, form: str) -> str:
        return f"?{self.query}plot={self.plot.name}&as={form}"


class PagePlots:
    """The plots of one page. A view calls `show` for each, and `render` at the end."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request
        self._plots: dict[str, Plot] = {}
        query = request.GET.copy()
        query.pop("plot", None)
        query.pop("as", None)
        self._query = f"{query.urlencode()}&" if query else ""

    def show(self, plot: Plot) -> ShownPlot:
        """Add a plot to the page."""
        assert plot.name not in self._plots, f"two plots named {plot.name}"
        self._plots[plot.name] = plot
        return ShownPlot(plot, self._query)

    def render(self, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
        """Return the page, or the file that the address names. Raises Http404 for a plot that the page lacks."""
        if "plot" not in self._request.GET:
            return render(self._request, template, context, status=status)
        name, form = self._request.GET["plot"], self._request.GET.get("as", "svg")
        plot = self._plots.get(name)
        if plot is None or form not in _FORMS:
            raise Http404(f"This page has no plot {name} as {form}.")
        text = plot.csv() if form == "csv" else plot.svg_file(file_style())
        return file_download(text, _FORMS[form], f"{name}.{form}")


@lru_cache(maxsize=1)
def file_style() -> str:
    """Return the style sheet of plots with the light colours in place of variables, for files on white paper."""
    folder = settings.BASE_DIR / "static" / "css"
    tokens = (folder / "tokens.css").read_text()
    colours = {name: (light or value).strip() for name, light, value in _TOKEN.findall(tokens)}
    colours |= {"paper": "#ffffff"}
    sheet = _COMMENT.sub("", (folder / "plots.css").read_text())
    resolved = re.sub(r"var\(--([\w-]+)\)", lambda found: colours[found[1]], sheet)
    return re.sub(r"\s+", " ", resolved).strip()
