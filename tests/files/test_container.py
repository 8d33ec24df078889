import json
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from safetensors.numpy import save

from hyperplanes.files import ModelFileError, container, read_container, write_container

DOCUMENT = {"name": "ä\ud800\n", "numbers": [1, 0.1, None, True]}
ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([True, False]), "c": np.array(2.5), "d": np.zeros((0, 2))}


def written(document=DOCUMENT, arrays=ARRAYS) -> bytes:
    file = BytesIO()
    write_container(file, document, arrays)
    return file.getvalue()


def forged(header: dict | bytes, data: bytes = b"") -> BytesIO:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return BytesIO(len(text).to_bytes(8, "little") + text + data)


def metadata_of(data: bytes) -> dict:
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]


def test_what_is_written_is_read(tmp_path):
    write_container(tmp_path / "file", DOCUMENT, ARRAYS)
    document, arrays = read_container(tmp_path / "file")
    assert document == DOCUMENT
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array, strict=True)


@given(
    arrays_of.arrays(
        dtype=st.sampled_from(sorted(container.DTYPES)),
        shape=arrays_of.array_shapes(min_dims=0, min_side=0),
        elements=st.nothing(),
        fill=st.just(0),
    )
    | arrays_of.arrays(dtype=">f8", shape=3)
)
def test_any_shape_type_order_and_endianness_comes_back(array):
    for shown in (array, array.T, array[..., ::-1] if array.ndim else array):
        _, arrays = read_container(BytesIO(written(None, {"x": shown})))
        assert arrays["x"].shape == shown.shape
        np.testing.assert_array_equal(arrays["x"], shown)


def test_numbers_that_are_not_numbers_keep_their_bits():
    array = np.array([np.nan, -0.0, np.inf, 5e-324])
    _, arrays = read_container(BytesIO(written(None, {"x": array})))
    assert arrays["x"].tobytes() == array.tobytes()


def test_every_cut_and_every_added_byte_is_noticed():
    data = written()
    for length in range(len(data)):
        with pytest.raises(ModelFileError):
            read_container(BytesIO(data[:length]))
    with pytest.raises(ModelFileError):
        read_container(BytesIO(data + b"\0"))


def test_every_flipped_bit_is_noticed_or_without_meaning():
    data = written()
    for k in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[k // 8] ^= 1 << k % 8
        try:
            document, arrays = read_container(BytesIO(flipped))
        except ModelFileError:
            continue
        assert document == DOCUMENT
        assert all(np.array_equal(arrays[name], array) for name, array in ARRAYS.items())


@pytest.mark.parametrize("claimed", [0, 1, 2**24 + 1, 2**40, 2**63, 2**64 - 1])
def test_a_header_that_claims_an_absurd_length_is_refused_before_it_is_read(claimed):
    class Stream(BytesIO):
        def read(self, size=-1):
            assert size == 8
            return super().read(size)

    with pytest.raises(ModelFileError, match="not a model file"):
        read_container(Stream(claimed.to_bytes(8, "little") + b"{}"))


def test_arrays_larger_than_the_file_are_refused_before_they_are_allocated():
    whole = {"__metadata__": metadata_of(written())}
    for shape, offsets in (([2**40], [0, 2**43]), ([2**62, 4], [0, 0]), ([1], [8, 16]), ([1], [-8, 0])):
        with pytest.raises(ModelFileError, match="damaged"):
            read_container(forged(whole | {"a": {"dtype": "F64", "shape": shape, "data_offsets": offsets}}, bytes(8)))


def test_arrays_that_overlap_are_refused():
    entry = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
    with pytest.raises(ModelFileError, match="damaged"):
        read_container(forged({"__metadata__": metadata_of(written()), "a": entry, "b": entry}, bytes(8)))


def test_names_that_occur_twice_are_refused():
    text = written()[8:]
    header = text[: text.index(b"}}") + 2].replace(b'"format":', b'"format":"x","format":')
    with pytest.raises(ModelFileError):
        read_container(forged(header))


@pytest.mark.parametrize("document", ["[" * 100_000, "{", "NaN", "[1e400", "1" * 5000, '{"a":1,"a":2}', ""])
def test_documents_that_are_not_proper_json_are_refused(document):
    metadata = metadata_of(written()) | {"document": document, "sha256": container._digest(document, {})}
    with pytest.raises(ModelFileError, match="cannot be read"):
        read_container(BytesIO(save({}, metadata)))


@pytest.mark.parametrize("dtype", [np.complex64, np.float16, np.int8])
def test_types_that_no_model_has_are_refused(dtype):
    arrays = {"x": np.zeros(2, dtype)}
    metadata = metadata_of(written()) | {"sha256": container._digest("{}", arrays), "document": "{}"}
    with pytest.raises(ModelFileError, match="unknown kind"):
        read_container(BytesIO(save(arrays, metadata)))


def test_booleans_are_true_or_false_and_nothing_between():
    odd = np.array([7], dtype=np.uint8).view(bool)
    with pytest.raises(ModelFileError, match="unknown kind"):
        read_container(BytesIO(written({}, {"x": odd})))


def test_other_safetensors_files_and_other_versions_are_named():
    with pytest.raises(ModelFileError, match="not a model of hyperplanes"):
        read_container(BytesIO(save({"x": np.zeros(2)})))
    with pytest.raises(ModelFileError, match="version '2'"):
        read_container(BytesIO(save({}, metadata_of(written()) | {"version": "2"})))
    with pytest.raises(ModelFileError, match="too much"):
        read_container(BytesIO(save({}, metadata_of(written()) | {"more": "x"})))


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04" + bytes(100), b"\x80\x04\x95" + bytes(100), b"text, not a model"])
def test_other_files_are_no_models(data):
    with pytest.raises(ModelFileError, match="not a model file"):
        read_container(BytesIO(data))


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_container(path, DOCUMENT, ARRAYS)
    monkeypatch.setattr(container, "MOST_HEADER_BYTES", 10)
    with pytest.raises(ValueError, match="fewer n_parts"):
        write_container(path, {}, {})
    monkeypatch.undo()
    assert read_container(path)[0] == DOCUMENT
