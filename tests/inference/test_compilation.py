from types import SimpleNamespace

import pytest

from hyperplanes.inference import compilation


@pytest.fixture
def settings(monkeypatch):
    """JAX's settings, replaced by a recording of what was set."""
    recorded = {}
    config = SimpleNamespace(jax_compilation_cache_dir=None, update=recorded.__setitem__)
    monkeypatch.setattr(compilation, "jax", SimpleNamespace(config=config))
    return SimpleNamespace(config=config, recorded=recorded)


keep = compilation.keep_compiled_programs.__wrapped__


def test_programs_are_kept_in_the_folder_that_the_user_names(settings, monkeypatch, tmp_path):
    monkeypatch.setenv(compilation.SWITCH, str(tmp_path))
    keep()
    assert settings.recorded["jax_compilation_cache_dir"] == str(tmp_path)


def test_programs_are_kept_in_the_users_cache_by_kind_of_machine(settings, monkeypatch, tmp_path):
    monkeypatch.delenv(compilation.SWITCH, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    keep()
    folder = settings.recorded["jax_compilation_cache_dir"]
    assert folder.startswith(str(tmp_path / "hyperplanes"))
    monkeypatch.setattr(compilation.platform, "processor", lambda: "another kind")
    keep()
    assert settings.recorded["jax_compilation_cache_dir"] != folder


def test_off_keeps_nothing(settings, monkeypatch):
    monkeypatch.setenv(compilation.SWITCH, "off")
    keep()
    assert settings.recorded == {}


def test_a_folder_that_the_user_gave_jax_stays(settings, monkeypatch):
    monkeypatch.delenv(compilation.SWITCH, raising=False)
    settings.config.jax_compilation_cache_dir = "elsewhere"
    keep()
    assert settings.recorded == {}
