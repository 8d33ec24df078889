import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from typing_extensions import TypeAliasType, TypeVar

from hyperplanes.files import ModelFileError, decode, encode

Scalar = TypeVar("Scalar", bound=np.generic)
Array = TypeAliasType("Array", np.ndarray[tuple[Any, ...], np.dtype[Scalar]], type_params=(Scalar,))
"""What NDArray is from NumPy 2.5 on."""


class Leaf(NamedTuple):
    values: NDArray[np.float64]
    name: str
    number: int | None = None


@dataclass(frozen=True)
class Branch:
    leaves: tuple[Leaf, ...]
    length: float = 1.0
    labels: tuple[tuple[str, ...] | None, ...] = ()


TYPES = {"Leaf": Leaf, "Branch": Branch}
TREE = {
    "trunk": Branch((Leaf(np.ones(2), "a"), Leaf(np.zeros(0), "b", 3)), math.inf, (("x",), None)),
    "plain": (1, "y"),
}

scalars = st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats() | st.text()
trees = st.recursive(
    scalars, lambda inside: st.tuples(inside, inside) | st.dictionaries(st.text(), inside), max_leaves=8
)


def test_a_tree_comes_back():
    tree = decode(*encode(TREE, TYPES), TYPES)
    assert tree["plain"] == (1, "y")
    assert tree["trunk"].length == math.inf
    assert tree["trunk"].labels == (("x",), None)
    first, second = tree["trunk"].leaves
    np.testing.assert_array_equal(first.values, np.ones(2))
    assert (second.values.shape, second.name, second.number) == ((0,), "b", 3)


@given(trees)
def test_numbers_texts_tuples_and_names_come_back(tree):
    assert repr(decode(*encode(tree, {}), {})) == repr(tree)


class Aliased(NamedTuple):
    values: Array[np.float64]


def test_types_are_known_by_an_alias():
    kinds = {"Aliased": Aliased}
    document, arrays = encode(Aliased(np.ones(2)), kinds)
    np.testing.assert_array_equal(decode(document, arrays, kinds).values, np.ones(2))
    with pytest.raises(ModelFileError, match="must not be of type ndarray"):
        decode(document, {"values": np.ones(2, dtype=bool)}, kinds)


def test_arrays_are_named_after_their_place():
    assert set(encode(TREE, TYPES)[1]) == {"trunk.leaves.0.values", "trunk.leaves.1.values"}


def test_scalars_of_numpy_become_those_of_python():
    back = decode(*encode((np.int64(3), np.float64(0.5), np.bool_(True), np.str_("x")), {}), {})
    assert [type(value) for value in back] == [int, float, bool, str]


@pytest.mark.parametrize("array", [np.array(["a", "ä"], dtype=object), np.array(["a", "ä"])])
def test_arrays_of_text_keep_their_kind(array):
    np.testing.assert_array_equal(decode(*encode(array, {}), {}), array, strict=True)


class Stranger(NamedTuple):
    x: int


class Impostor:
    Leaf = None


@pytest.mark.parametrize("value", [Stranger(1), object(), {1, 2}, 1j, np.array([{}]), np.array([["a"]]), print])
def test_what_is_not_known_is_not_written(value):
    with pytest.raises(TypeError, match=r"a.0 cannot be saved"):
        encode({"a": (value,)}, TYPES)


def leaf(**fields: Any) -> dict[str, Any]:
    return {"type": "Leaf", "fields": {"values": {"array": "v"}, "name": "a"} | fields}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"type": "os.system", "fields": {}}, "knows nothing like"),
        ({"type": "Stranger", "fields": {"x": 1}}, "knows nothing like"),
        ({"type": "Leaf", "fields": {}, "more": 1}, "knows nothing like"),
        ({"float": "1.5"}, "knows nothing like"),
        ({"array": "w"}, "knows nothing like"),
        ({"texts": [1], "objects": True}, "knows nothing like"),
        ({}, "knows nothing like"),
        (leaf(other=1), "no field 'other'"),
        (leaf(__class__=1), "no field"),
        ({"type": "Leaf", "fields": {"values": {"array": "v"}}}, "lacks its field 'name'"),
        (leaf(name=3), "Leaf.name must not be of type int"),
        (leaf(number=True), "Leaf.number"),
        (leaf(number="3"), "Leaf.number"),
        (leaf(values=[1.0]), "Leaf.values"),
        (leaf(values={"texts": ["a"], "objects": True}), "Leaf.values"),
        ([leaf(), leaf()], "knows nothing like"),
        (None, "nothing refers to the array 'v'"),
        (leaf(number=2**64), "64 bits"),
        ({"type": "Branch", "fields": {"leaves": [{"array": "v"}]}}, "Branch.leaves"),
        ({"type": "Branch", "fields": {"leaves": [], "length": {"array": "v"}}}, "Branch.length"),
    ],
)
def test_what_does_not_fit_is_refused(document, message):
    with pytest.raises(ModelFileError, match=message):
        decode(document, {"v": np.ones(2)}, TYPES)


def test_fields_with_a_default_may_be_missing_in_older_files():
    assert decode(leaf(), {"v": np.ones(2)}, TYPES).number is None
