"""Labels of problems: the last part of a tag "category > subcategory > label"."""

from collections.abc import Iterable, Sequence

from rapidfuzz.distance import JaroWinkler

from benchmark.text.tags import tag_key, tag_keys

SEPARATOR = " > "


def label(tag: str) -> str:
    """The label itself."""
    return tag.rpartition(SEPARATOR)[2]


def subcategory(tag: str) -> str:
    """What the label belongs to, all of the path; blank where the tag has none."""
    return tag.rpartition(SEPARATOR)[0]


def label_similarity(ones: Sequence[str], others: Sequence[str]) -> float:
    """Return the likeness of the two most alike labels (Jaro–Winkler, from 0 to 1): 1 for spellings of one tag."""
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
    """Return the normal forms of the subcategories of those tags that have one."""
    return tag_keys(found for tag in tags if (found := subcategory(tag)))
