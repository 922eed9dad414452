"""What the editor tells the server at the start, and what the server's environment holds."""

from __future__ import annotations

import json
import os
from collections.abc import MutableMapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic.alias_generators import to_camel

KEY_VARIABLE = "KLINEAGE_API_KEY"
OPENAI_VARIABLES = ("OPENAI_API_KEY",)
"""The person's own, for OpenAI itself; no other process of ours inherits it."""


class Settings(BaseModel):
    """The `initializationOptions`. An editor that sends none gets a server that runs nothing: see `trusted`."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, extra="ignore")

    trusted: bool = Field(default=False, strict=True)
    """False: the workspace may be hostile. Nothing in it is run: no git, no compiler, no kernel."""
    confirms_edits: bool = False
    """The editor shows an accepted edit to the person and then asks for it by `klineage.applyAccepted`."""
    command_links: bool = False
    """The editor follows `command:` links in hover cards."""
    device: Literal["auto", "cuda", "emulated"] = "auto"
    check: Literal["typing", "saving", "off"] = "typing"
    """When the kernels of a document are checked on the emulated device: `typing` is also when it is opened or saved,
    `saving` also when it is opened. Not in a workspace that is not trusted."""
    check_seconds: float = Field(default=10.0, gt=0, le=3600)
    """What checking one document may take."""
    remote: str = ""
    """Where a skill's candidate is judged when not here: an address as `kernel_gate.fleet.over_ssh.Host` reads it."""
    hypotheses: bool = False
    """Count skills that no verified use on another kernel has admitted as the others; who asks sees them anyway."""
    hints: bool = False
    """Show measured figures beside the code."""
    model_base_url: str = ""
    model_name: str = ""

    @classmethod
    def read(cls, options: Any) -> tuple[Settings, list[str]]:
        """The settings, and what was wrong: a field that cannot be read is named and keeps its own default."""
        if options is None:
            return cls(), []
        if not isinstance(options, dict):
            return cls(), ["initializationOptions is not an object; the defaults are used"]
        right: dict[str, Any] = {}
        problems = []
        for name, field in cls.model_fields.items():
            sent = to_camel(name)
            if sent not in options:
                continue
            try:
                cls.model_validate({sent: options[sent]})
                right[sent] = options[sent]
            except ValidationError as error:
                default = json.dumps(field.default)
                problems.append(f"{sent}: {error.errors()[0]['msg']}; its default, {default}, is used")
        return cls.model_validate(right), problems


class Key(BaseModel):
    """The key of the model's endpoint, kept out of logs, settings and other processes."""

    value: SecretStr | None = Field(default=None, repr=False)

    @classmethod
    def take(cls, environment: MutableMapping[str, str] = os.environ) -> Key:
        """Take the key out of the environment, so that no compiler or other child inherits it."""
        value = environment.pop(KEY_VARIABLE, None)
        return cls(value=SecretStr(value) if value else None)

    def environment(self, settings: Settings) -> dict[str, str]:
        """For the one child that asks the model: the endpoint, the model and the key, of what is known."""
        variables = {"KLINEAGE_BASE_URL": settings.model_base_url, "KLINEAGE_MODEL": settings.model_name}
        if self.value is not None and settings.model_base_url:
            variables[KEY_VARIABLE] = self.value.get_secret_value()
        elif not settings.model_base_url:
            variables |= {name: os.environ.get(name, "") for name in OPENAI_VARIABLES}
        return {name: value for name, value in variables.items() if value}
