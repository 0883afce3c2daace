"""The judge's cache folder: the launcher, compiled programs and precompiled headers.

Every entry can be made again. A damaged, missing or untrusted entry counts as absent, and a folder that cannot be
written is no fault. Entries appear by an atomic rename, so several judges can share the folder.
"""

from judge.cache.compiled_programs import load_program, store_program
from judge.cache.folder import (
    default_cache,
    headers_folder,
    is_trusted,
    mark_used,
    private_folder,
    programs_folder,
    remove,
)

__all__ = [
    "default_cache",
    "headers_folder",
    "is_trusted",
    "load_program",
    "mark_used",
    "private_folder",
    "programs_folder",
    "remove",
    "store_program",
]
