"""Figures of problem packages: validation, and conversion to formats that browsers display."""

import io
import re
import warnings
from pathlib import Path

import pypdfium2
from PIL import Image

from benchmark.datasets.records import FigureRecord

MAXIMUM_BYTES = 20 * 2**20
MAXIMUM_PIXELS = 40_000_000
_PDF_WIDTH = 1400
"""Width in pixels of a figure converted from PDF, sharp on a high-resolution screen."""

_MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
_RASTER = (".png", ".jpg", ".jpeg", ".gif", ".webp")
SUFFIXES = (*_RASTER, ".pdf", ".svg", ".eps")
"""Suffixes of figures, the preferred format first. The last two are recognized but rejected."""

_NAME = re.compile(r"[\w][\w .+@()-]{0,149}")


class FigureError(Exception):
    """A figure that cannot be displayed; the message states the reason and the remedy."""


def read_figure(path: Path) -> FigureRecord:
    """Return the figure in the file: PNG, JPEG, GIF and WebP unchanged, the first page of a PDF as PNG.

    Raises FigureError.
    """
    if not _NAME.fullmatch(path.name):
        raise FigureError("its name contains characters that are not allowed in a URL; rename it")
    if path.stat().st_size > MAXIMUM_BYTES:
        raise FigureError(f"it is larger than {MAXIMUM_BYTES // 2**20} MiB")
    suffix = path.suffix.lower()
    content = path.read_bytes()
    if suffix == ".pdf":
        return FigureRecord(f"{path.stem}.png", "image/png", _first_page(content))
    if suffix not in _RASTER:
        raise FigureError(f"{suffix[1:].upper()} pictures can contain programs; convert it to PNG or PDF")
    return FigureRecord(path.name, _media_type(content), content)


def _media_type(content: bytes) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=tuple(_MEDIA_TYPES)) as image:
                if image.width * image.height > MAXIMUM_PIXELS:
                    raise FigureError(f"it has more than {MAXIMUM_PIXELS // 10**6} million pixels")
                image.verify()
                return _MEDIA_TYPES[str(image.format)]
    except (
        OSError,
        SyntaxError,
        ValueError,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ) as error:
        raise FigureError(f"it is not a readable picture ({error})") from error


def _first_page(content: bytes) -> bytes:
    try:
        document = pypdfium2.PdfDocument(content)
        try:
            page = document[0]
            width, height = page.get_size()
            scale = _PDF_WIDTH / max(width, height, 1)
            picture = page.render(scale=min(scale, 10)).to_pil()
        finally:
            document.close()
    except (pypdfium2.PdfiumError, IndexError, ValueError, MemoryError) as error:
        raise FigureError(f"it is not a readable PDF ({error})") from error
    output = io.BytesIO()
    picture.convert("RGB").save(output, "PNG", optimize=True)
    return output.getvalue()
