"""Labels of problems: the last part of a tag "category > subcategory > label"."""

from collections.abc import Iterable, Sequence

from rapidfuzz.distance import JaroWinkler

from benchmark.text.tags import tag_key, tag_keys

SEPARATOR = " > "


def label(tag: str) -> str:
    """Return the label of a tag."""
    return tag.rpartition(SEPARATOR)[2]


def subcategory(tag: str) -> str:
    """Return the path before the label, "category > subcategory"; blank without one."""
    return tag.rpartition(SEPARATOR)[0]


def label_similarity(ones: Sequence[str], others: Sequence[str]) -> float:
    """Return the largest Jaro–Winkler similarity of two labels, from 0 to 1; 1 for spellings of the same tag."""
    return max(
        (
            1.0
            if tag_key(label(one)) == tag_key(label(other))
            else JaroWinkler.normalized_similarity(label(one).lower(), label(other).lower())
            for one in ones
            for other in others
        ),
        default=0.0,
    )


def subcategories(tags: Iterable[str]) -> frozenset[str]:
    """Return the normalised subcategories of the tags that have one."""
    return tag_keys(found for tag in tags if (found := subcategory(tag)))
