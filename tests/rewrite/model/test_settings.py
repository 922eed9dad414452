"""Where the model lane's settings come from, and where a key may go."""

from __future__ import annotations

import pytest

from kernel_lineage.rewrite.model.settings import OPENAI_URL, SettingsError, settings_from

OWN = {"KLINEAGE_BASE_URL": "https://models.example/v1", "KLINEAGE_MODEL": "m"}


def test_own_endpoint_model_and_key() -> None:
    settings = settings_from({**OWN, "KLINEAGE_API_KEY": "k"})
    assert (settings.base_url, settings.model, settings.api_key) == ("https://models.example/v1", "m", "k")


def test_options_come_before_the_environment() -> None:
    settings = settings_from(OWN, model="other", token_budget=5, request_seconds=1.5)
    assert (settings.model, settings.token_budget, settings.request_seconds) == ("other", 5, 1.5)


def test_limits_from_the_environment() -> None:
    settings = settings_from({**OWN, "KLINEAGE_TOKEN_BUDGET": "1000", "KLINEAGE_MODEL_TIMEOUT": "9"})
    assert (settings.token_budget, settings.request_seconds) == (1000, 9)


def test_an_openai_key_alone_means_openai() -> None:
    settings = settings_from({"OPENAI_API_KEY": "k", "KLINEAGE_MODEL": "m"})
    assert (settings.base_url, settings.api_key) == (OPENAI_URL, "k")


def test_an_openai_key_does_not_go_to_another_endpoint() -> None:
    assert settings_from({**OWN, "OPENAI_API_KEY": "k"}).api_key is None


def test_a_key_may_go_to_this_machine_over_http() -> None:
    environ = {
        "KLINEAGE_BASE_URL": "http://localhost:8000/v1",
        "KLINEAGE_MODEL": "m",
        "KLINEAGE_API_KEY": "k",
    }
    assert settings_from(environ).loopback


def test_a_key_is_not_shown() -> None:
    assert "very-secret" not in repr(settings_from({**OWN, "KLINEAGE_API_KEY": "very-secret"}))


REFUSED = {
    "nothing": ({}, "No model endpoint is set up"),
    "key without endpoint": ({"KLINEAGE_API_KEY": "k", "KLINEAGE_MODEL": "m"}, "not the endpoint it is for"),
    "no model": ({"KLINEAGE_BASE_URL": "https://models.example"}, "No model is named"),
    "key over http": (
        {"KLINEAGE_BASE_URL": "http://models.example", "KLINEAGE_MODEL": "m", "KLINEAGE_API_KEY": "k"},
        "unencrypted",
    ),
    "not a URL": ({"KLINEAGE_BASE_URL": "models.example", "KLINEAGE_MODEL": "m"}, "not an http or https URL"),
    "a password in the URL": (
        {"KLINEAGE_BASE_URL": "https://me:secret@models.example", "KLINEAGE_MODEL": "m"},
        "give the key in KLINEAGE_API_KEY",
    ),
    "budget": ({**OWN, "KLINEAGE_TOKEN_BUDGET": "lots"}, "must be a whole number"),
}


@pytest.mark.parametrize(("environ", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_missing_or_dangerous_is_said(environ: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        settings_from(environ)
