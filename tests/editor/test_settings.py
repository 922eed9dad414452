"""What an editor says at the start, and the key."""

from __future__ import annotations

import pytest

from kernel_lineage.editor.settings import KEY_VARIABLE, Key, Settings


def test_an_editor_that_says_nothing_gets_the_defaults():
    settings, problems = Settings.read(None)
    assert not problems
    assert not settings.trusted
    assert settings.device == "auto"
    assert not settings.confirms_edits


def test_options_are_read_as_editors_write_them():
    settings, problems = Settings.read(
        {"trusted": True, "confirmsEdits": True, "modelName": "m", "unknown": 1}
    )
    assert not problems
    assert (settings.trusted, settings.confirms_edits, settings.model_name) == (True, True, "m")


@pytest.mark.parametrize("options", [{"device": "tpu"}, "cuda", 3])
def test_options_that_cannot_be_read_are_named_and_change_nothing(options):
    settings, (problem,) = Settings.read(options)
    assert settings == Settings()
    assert problem.endswith(("the defaults are used", 'its default, "auto", is used'))


def test_the_key_is_taken_out_of_the_environment_and_never_shown():
    environment = {KEY_VARIABLE: "secret-1", "PATH": "/bin"}
    key = Key.take(environment)
    assert environment == {"PATH": "/bin"}
    assert "secret-1" not in repr(key)


def test_the_key_goes_only_to_the_endpoint_that_was_set(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    key = Key.take({KEY_VARIABLE: "secret-1"})
    assert key.environment(Settings()) == {}
    set_up = Settings(modelBaseUrl="https://models.example/v1", modelName="m")
    assert key.environment(set_up) == {
        "KLINEAGE_BASE_URL": "https://models.example/v1",
        "KLINEAGE_MODEL": "m",
        KEY_VARIABLE: "secret-1",
    }
