"""`python -m benchmark.rendering` prints the colour rules that static/css/code.css ends with."""

import sys

from benchmark.rendering.highlighting import pygments_css

sys.stdout.write(pygments_css())
