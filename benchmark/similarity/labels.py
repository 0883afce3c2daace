"""Labels of problems: the last part of a tag "category > subcategory > label"."""

from collections.abc import Iterable, Sequence

from rapidfuzz.distance import JaroWinkler

SEPARATOR = " > "


def label(tag: str) -> str:
    """The label itself."""
    return tag.rpartition(SEPARATOR)[2]


def subcategory(tag: str) -> str:
    """What the label belongs to, all of the path; blank where the tag has none."""
    return tag.rpartition(SEPARATOR)[0]


def label_similarity(ones: Sequence[str], others: Sequence[str]) -> float:
    """The likeness of the two most alike labels (Jaro–Winkler, from 0 to 1, whatever their case)."""
    return max(
        (
            JaroWinkler.normalized_similarity(label(one).lower(), label(other).lower())
            for one in ones
            for other in others
        ),
        default=0.0,
    )


def subcategories(tags: Iterable[str]) -> set[str]:
    """Of all tags that have one."""
    return {subcategory(tag) for tag in tags} - {""}
