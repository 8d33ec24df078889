"""Trees of NamedTuples and dataclasses as JSON and arrays, and back.

The reader knows the types by name beforehand: a file can name one of them, and nothing else. What a file says of a
field has to be of the type that the field is declared with.
"""

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from hyperplanes.files.container import ModelFileError

Types: TypeAlias = Mapping[str, type[Any]]
"""Types that may be in a file, by name."""

LARGEST_INTEGER = 2**63 - 1
NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def encode(tree: Any, types: Types) -> tuple[Any, dict[str, NDArray[Any]]]:
    """A tree as a document of JSON and the arrays that it refers to, named after their place in it.

    Raises
    ------
    TypeError
        For something in it whose type is not known.
    """
    arrays: dict[str, NDArray[Any]] = {}
    return _encode(tree, "", types, arrays), arrays


def _encode(value: Any, place: str, types: Types, arrays: dict[str, NDArray[Any]]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, np.ndarray):
        return _encode_array(value, place, arrays)
    if types.get(type(value).__name__) is type(value):
        inside = {name: getattr(value, name) for name in _fields_of(type(value))}
        return {"type": type(value).__name__, "fields": _encode_named(inside, place, types, arrays)}
    if isinstance(value, dict):
        return {"names": _encode_named(value, place, types, arrays)}
    if type(value) in (tuple, list):
        return [_encode(each, f"{place}.{k}", types, arrays) for k, each in enumerate(value)]
    raise TypeError(f"{place.lstrip('.')} cannot be saved: a model file has no {type(value).__name__}")


def _encode_named(values: Mapping[str, Any], place: str, types: Types, arrays: dict[str, NDArray[Any]]) -> Any:
    return {name: _encode(each, f"{place}.{name}", types, arrays) for name, each in values.items()}


def _encode_array(array: NDArray[Any], place: str, arrays: dict[str, NDArray[Any]]) -> Any:
    if array.dtype.kind in "OUT":
        texts = array.tolist()
        if array.ndim != 1 or not all(isinstance(text, str) for text in texts):
            raise TypeError(f"{place.lstrip('.')} cannot be saved: an array of objects has to hold text in a row")
        return {"texts": texts, "objects": array.dtype.kind == "O"}
    arrays[place.lstrip(".")] = array
    return {"array": place.lstrip(".")}


def decode(document: Any, arrays: Mapping[str, NDArray[Any]], types: Types) -> Any:
    """The tree that `encode` made a document and arrays of.

    Raises
    ------
    ModelFileError
        For types that are not known, fields that do not fit them, and arrays that are missing, superfluous or shared.
    """
    waiting = dict(arrays)
    try:
        tree = _decode(document, waiting, types)
    except RecursionError:
        raise ModelFileError("the file is damaged: it is nested too deeply") from None
    if waiting:
        raise ModelFileError(f"the file is damaged: nothing refers to the array {min(waiting)!r}")
    return tree


def _decode(value: Any, waiting: dict[str, NDArray[Any]], types: Types) -> Any:
    if isinstance(value, list):
        return tuple(_decode(each, waiting, types) for each in value)
    if isinstance(value, int) and abs(value) > LARGEST_INTEGER:
        raise ModelFileError("the file is damaged: it has an integer of more than 64 bits")
    if not isinstance(value, dict):
        return value
    match value:
        case {"float": str(name)} if len(value) == 1 and name in NOT_FINITE:
            return NOT_FINITE[name]
        case {"array": str(name)} if len(value) == 1 and name in waiting:
            return waiting.pop(name)
        case {"texts": list(texts), "objects": bool(objects)} if len(value) == 2 and _all_text(texts):
            return np.array(texts, dtype=object if objects else np.str_)
        case {"names": dict(inside)} if len(value) == 1:
            return {name: _decode(each, waiting, types) for name, each in inside.items()}
        case {"type": str(name), "fields": dict(inside)} if len(value) == 2 and name in types:
            return _build(types[name], {field: _decode(each, waiting, types) for field, each in inside.items()})
    raise ModelFileError(f"the file is damaged: this library knows nothing like {str(value)[:80]}")


def _all_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _build(kind: type[Any], values: dict[str, Any]) -> Any:
    hints, declared = get_type_hints(kind), _fields_of(kind)
    for name in values:
        if name not in declared:
            raise ModelFileError(f"the file is damaged, or of a later version: {kind.__name__} has no field {name!r}")
    for name, has_default in declared.items():
        if name not in values:
            if has_default:
                continue
            raise ModelFileError(f"the file is damaged: {kind.__name__} lacks its field {name!r}")
        if not matches(values[name], hints[name]):
            got = type(values[name]).__name__
            raise ModelFileError(f"the file is damaged: {kind.__name__}.{name} must not be of type {got}")
    return kind(**values)


def _fields_of(kind: type[Any]) -> dict[str, bool]:
    """Names of fields, and whether they have a default."""
    if is_dataclass(kind):
        return {
            field.name: field.default is not MISSING or field.default_factory is not MISSING for field in fields(kind)
        }
    return {name: name in kind._field_defaults for name in kind._fields}


def matches(value: Any, hint: Any) -> bool:
    """Whether a value from a file is of the type that it is declared with."""
    hint = _without_alias(hint)
    origin, parameters = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(matches(value, each) for each in parameters)
    if origin is tuple and parameters[-1] is Ellipsis:
        return type(value) is tuple and all(matches(each, parameters[0]) for each in value)
    if origin is tuple:
        return (
            type(value) is tuple
            and len(value) == len(parameters)
            and all(matches(each, hint) for each, hint in zip(value, parameters, strict=True))
        )
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and _holds(value, get_args(parameters[1])[0])
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint in (None, NoneType):
        return value is None
    return isinstance(hint, type) and type(value) is hint


def _without_alias(hint: Any) -> Any:
    """What the alias of a type stands for; NumPy's `NDArray` is one from version 2.5 on."""
    alias = get_origin(hint) or hint
    if not hasattr(alias, "__value__"):
        return hint
    return alias.__value__[get_args(hint)] if get_args(hint) else alias.__value__


def _holds(array: NDArray[Any], scalar: Any) -> bool:
    """Whether entries are of a type; integers are numbers too where there may be fractions."""
    if scalar is Any or np.issubdtype(array.dtype, scalar):
        return True
    return np.issubdtype(scalar, np.floating) and array.dtype.kind == "i"
