"""Draws the figures of the statements: `python make_figures.py`, with Pillow installed.

The PNG files are checked in; run this only to change a figure.
"""

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

FOLDER = Path(__file__).resolve().parent
PAPER, INK, GREY, RED, BLUE, LIGHT_BLUE, GREEN = (
    "#ffffff",
    "#22272e",
    "#8a929c",
    "#c2413b",
    "#2f6fb3",
    "#bcd7f0",
    "#5b8f4e",
)


def canvas(width, height):
    image = Image.new("RGB", (width, height), PAPER)
    return image, ImageDraw.Draw(image)


def write(draw, position, text, size=30, colour=INK, anchor="mm"):
    draw.text(position, text, fill=colour, font=ImageFont.load_default(size), anchor=anchor)


def save(image, path):
    image.quantize(32, dither=Image.Dither.NONE).save(FOLDER / path, optimize=True)


def sidings():
    """The Tram Depot, first sample: three sidings that are open on the left."""
    image, draw = canvas(1000, 400)
    # The trams of each siding from the entrance to the far end.
    for row, trams in enumerate([[1, 3], [1, 2, 2], [4]]):
        y = 90 + 110 * row
        draw.line([(60, 200), (230, y + 34)], fill=GREY, width=6)
        draw.line([(230, y + 34), (930, y + 34)], fill=GREY, width=6)
        draw.rectangle([930, y - 20, 944, y + 38], fill=INK)
        for place, wave in enumerate(reversed(trams)):
            right = 915 - 190 * place
            draw.rounded_rectangle([right - 170, y - 28, right, y + 20], 14, fill=RED)
            for window in range(4):
                left = right - 160 + 28 * window if window < 2 else right - 114 + 28 * window
                draw.rectangle([left, y - 18, left + 20, y - 2], fill=LIGHT_BLUE)
            draw.ellipse([right - 107, y - 26, right - 63, y + 18], fill=PAPER)
            write(draw, (right - 85, y - 4), str(wave))
            for wheel in (right - 145, right - 45):
                draw.ellipse([wheel, y + 16, wheel + 20, y + 36], fill=INK)
    draw.line([(0, 200), (60, 200)], fill=GREY, width=6)
    write(draw, (110, 372), "entrance", 26)
    write(draw, (880, 372), "far end", 26)
    save(image, "tram-depot/problem_statement/sidings.png")


def trips():
    """The Watering Round, first sample: the water of the two trips."""
    image, draw = canvas(1000, 430)
    needs = [3, 4, 2, 6, 2]
    draw.rectangle([70, 40, 84, 130], fill=INK)
    write(draw, (77, 155), "gate", 26)
    for plot, need in enumerate(needs, 1):
        left = 40 + 160 * plot
        draw.rounded_rectangle([left, 40, left + 130, 130], 10, outline=GREEN, width=4)
        write(draw, (left + 65, 68), f"plot {plot}", 26)
        write(draw, (left + 65, 104), f"{need} litres", 26, GREEN)
    rows = [
        (1, 3, "3 + 4 + 2 litres for the plots, 3 leak: 12"),
        (4, 5, "6 + 2 litres for the plots, 5 leak: 13"),
    ]
    for row, (first, last, text) in enumerate(rows):
        y = 215 + 120 * row
        begin, end = 40 + 160 * first, 40 + 160 * last + 130
        draw.line([(77, y), (end, y)], fill=LIGHT_BLUE, width=10)
        draw.line([(begin, y), (end, y)], fill=BLUE, width=10)
        draw.polygon([(end, y - 16), (end + 26, y), (end, y + 16)], fill=BLUE)
        for plot in range(1, last + 1):
            drop = 25 + 160 * plot
            draw.polygon([(drop, y + 8), (drop - 8, y + 24), (drop + 8, y + 24)], fill=BLUE)
            draw.ellipse([drop - 8, y + 18, drop + 8, y + 34], fill=BLUE)
        write(draw, (77, y + 62), f"trip {row + 1}: {text}", 28, anchor="lm")
    save(image, "watering-round/statement/trips.png")


if __name__ == "__main__":
    sidings()
    trips()
