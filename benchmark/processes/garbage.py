"""Garbage collection in long-running processes."""

import gc


def exclude_loaded_objects() -> None:
    """Exclude the current objects from garbage collections.

    Each full collection would otherwise visit the loaded code for about 70 ms, and delay a page or the text of a reply.
    """
    gc.collect()
    gc.freeze()
