"""The container: named arrays and a JSON document in one safetensors file, with a checksum over all of it.

Safetensors and not NumPy's archives: there is no compression, so that an array is never larger than the file, names
cannot occur twice, arrays lie side by side without gaps, and the sizes in the header are checked against the file
before anything is allocated. docs/format.md describes the layout.
"""

import hashlib
import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from hyperplanes.files.replacement import replaced_file

File: TypeAlias = str | PathLike[str] | BinaryIO
"""A path, or a binary file that is open."""
Arrays: TypeAlias = Mapping[str, NDArray[Any]]

FORMAT = "hyperplanes"
VERSION = 1
KEYS = {"format", "version", "document", "sha256"}
LENGTH_BYTES = 8
MOST_HEADER_BYTES = 2**24
"""Some thousand parts; what is longer is refused before it is parsed."""
DTYPES = frozenset({"bool", "int32", "int64", "uint32", "float32", "float64"})


class ModelFileError(ValueError):
    """A file that is not a model of this library, is damaged, or was written by a later version."""


def write_container(file: File, document: Any, arrays: Arrays) -> None:
    """Write a document of JSON and arrays; a path is replaced as a whole, or left as it was."""
    text = json.dumps(document, allow_nan=False, separators=(",", ":"))
    dense = {name: np.array(array, order="C") for name, array in arrays.items()}
    metadata = {"format": FORMAT, "version": str(VERSION), "document": text, "sha256": _digest(text, dense)}
    data = save(dense, metadata)
    if _header_length(data) > MOST_HEADER_BYTES:
        raise ValueError("this model has too many parts for one file: use fewer n_parts")
    if not isinstance(file, str | PathLike):
        file.write(data)
        return
    with replaced_file(file) as replacement:
        replacement.write(data)


def read_container(file: File) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Read what `write_container` wrote.

    Raises
    ------
    ModelFileError
        If it did not write this file, or not exactly so.
    """
    data = _read_bytes(file)
    metadata = _read_metadata(data)
    try:
        arrays = load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise ModelFileError(f"the file is damaged: {error}") from None
    for name, array in arrays.items():
        if array.dtype.name not in DTYPES or (array.dtype == bool and np.any(array.view(np.uint8) > 1)):
            raise ModelFileError(f"the file is damaged: array {name!r} has entries of an unknown kind")
    if _digest(metadata["document"], arrays) != metadata["sha256"]:
        raise ModelFileError("the file is damaged: its contents do not have the checksum that was written with them")
    return _parse(metadata["document"]), arrays


def _read_bytes(file: File) -> bytes:
    """The whole file, unless its beginning shows that it is not ours."""
    if isinstance(file, str | PathLike):
        with Path(file).open("rb") as opened:
            return _read_bytes(opened)
    start = file.read(LENGTH_BYTES)
    length = _header_length(start)
    if len(start) < LENGTH_BYTES or not 2 <= length <= MOST_HEADER_BYTES:
        raise ModelFileError("this is not a model file of hyperplanes, or it is cut off")
    header = file.read(length)
    if len(header) < length or not header.startswith(b"{"):
        raise ModelFileError("this is not a model file of hyperplanes, or it is cut off")
    return start + header + file.read()


def _header_length(data: bytes) -> int:
    return int.from_bytes(data[:LENGTH_BYTES], "little")


def _read_metadata(data: bytes) -> dict[str, str]:
    header = _parse(data[LENGTH_BYTES : LENGTH_BYTES + _header_length(data)])
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT:
        raise ModelFileError("this is a safetensors file, but not a model of hyperplanes")
    if metadata.get("version") != str(VERSION):
        raise ModelFileError(
            f"this model file has version {metadata.get('version')!r}, and this library reads version {VERSION}: "
            "load it with the library that wrote it, or with a newer one"
        )
    if set(metadata) != KEYS or not all(isinstance(value, str) for value in metadata.values()):
        raise ModelFileError("the file is damaged: its header lacks something, or has too much")
    return metadata


def _parse(text: str | bytes) -> Any:
    """JSON, in which names may not occur twice and numbers are numbers."""
    try:
        return json.loads(text, object_pairs_hook=_without_copies, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the file is damaged: its header cannot be read ({type(error).__name__})") from None


def _without_copies(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _digest(document: str, arrays: Arrays) -> str:
    """SHA-256 of the version, the document, and name, type, shape and entries of each array."""
    digest = hashlib.sha256(f"{VERSION}\n{document}".encode())
    for name in sorted(arrays):
        array = arrays[name]
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"\n{json.dumps(name)} {array.dtype.name} {array.shape}\n".encode())
        digest.update(little.tobytes())
    return digest.hexdigest()
