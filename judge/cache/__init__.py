"""The judge's folders: the cache of the launcher, compiled programs and headers, and temporary folders.

Every entry of the cache can be made again. A damaged, missing or untrusted entry counts as absent, and a folder that
cannot be written is not a fault. Entries appear by an atomic rename, so several judges can share the folder.
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
from judge.cache.temporary_folders import remove_abandoned_folders, temporary_folder

__all__ = [
    "default_cache",
    "headers_folder",
    "is_trusted",
    "load_program",
    "mark_used",
    "private_folder",
    "programs_folder",
    "remove",
    "remove_abandoned_folders",
    "store_program",
    "temporary_folder",
]
