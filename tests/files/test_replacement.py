import os
import stat
import threading
import time
from contextlib import suppress

import pytest

from hyperplanes.files import check_replaceable, replaced_file, replacement, temporary_folder


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


def test_errors_name_the_file_that_was_meant(tmp_path):
    for path in (tmp_path / "no" / "model", "/proc/model"):
        with pytest.raises(OSError, match=f"'{path}'") as caught, replaced_file(path):
            pass
        with pytest.raises(type(caught.value), match=f"'{path}'"):
            check_replaceable(path)


def test_a_check_beforehand_leaves_nothing(tmp_path):
    (tmp_path / "old").write_bytes(b"old")
    for path in (tmp_path / "old", tmp_path / "new"):
        check_replaceable(path)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    with pytest.raises(IsADirectoryError):
        check_replaceable(tmp_path)


def test_what_is_unfinished_can_be_removed_from_another_thread(tmp_path, monkeypatch):
    """Which nobody can complete then."""
    monkeypatch.setattr(replacement, "_names", threading.Lock())
    began = threading.Event()

    def work():
        with temporary_folder("folder-", tmp_path) as folder, suppress(FileNotFoundError):
            (folder / "rows").write_bytes(b"rows")
            with replaced_file(tmp_path / "model") as file:
                file.write(b"half")
                began.set()
                while any(tmp_path.iterdir()):
                    time.sleep(0.01)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert began.wait(10)
    assert len(list(tmp_path.iterdir())) == 2
    replacement.remove_unfinished()
    thread.join(0.1)
    assert thread.is_alive()
    assert not list(tmp_path.iterdir())
    replacement._names.release()
    thread.join(10)
    assert not list(tmp_path.iterdir())
    assert not replacement._unfinished


def test_a_temporary_folder_is_gone_afterwards(tmp_path):
    with pytest.raises(TypeError), temporary_folder("folder-", tmp_path) as folder:
        (folder / "rows").write_bytes(None)
    assert not list(tmp_path.iterdir())
