"""Files that last: arrays and a JSON document in one file that is complete or absent, and runs nothing when read.

Nothing here knows what a hyperplane is: a file holds a tree of NamedTuples and dataclasses, and the reader says which.
"""

from hyperplanes.files.container import ModelFileError, read_container, write_container
from hyperplanes.files.replacement import check_replaceable, remove_unfinished, replaced_file, temporary_folder
from hyperplanes.files.trees import decode, encode, matches

__all__ = [
    "ModelFileError",
    "check_replaceable",
    "decode",
    "encode",
    "matches",
    "read_container",
    "remove_unfinished",
    "replaced_file",
    "temporary_folder",
    "write_container",
]
