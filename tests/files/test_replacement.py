import os
import stat

import pytest

from hyperplanes.files import replaced_file


def test_the_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "model"
    with replaced_file(path) as file:
        file.write(b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), replaced_file(path) as file:
        file.writelines([b"half of the n", None])
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_contents_are_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    happened, sync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (happened.append("sync"), sync(handle)))
    monkeypatch.setattr(os, "replace", lambda *names: (happened.append("rename"), replace(*names)))
    with replaced_file(tmp_path / "model") as file:
        file.write(b"whole")
    assert happened == ["sync", "rename", "sync"]


def test_links_are_followed_and_permissions_kept(tmp_path):
    path, link = tmp_path / "model", tmp_path / "link"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    with replaced_file(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_usual_permissions(tmp_path):
    with replaced_file(tmp_path / "model") as file:
        file.write(b"new")
    (tmp_path / "usual").touch()
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_folders_pipes_and_missing_folders_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, kind in ((tmp_path, IsADirectoryError), (tmp_path / "pipe", OSError), (tmp_path / "no" / "m", OSError)):
        with pytest.raises(kind), replaced_file(path):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_long_name_can_be_replaced(tmp_path):
    path = tmp_path / ("m" * 250)
    with replaced_file(path) as file:
        file.write(b"whole")
    assert path.exists()
