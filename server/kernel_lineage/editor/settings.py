"""What the editor tells the server at the start, and what the server's environment holds."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic.alias_generators import to_camel

KEY_VARIABLE = "KLINEAGE_API_KEY"


class Settings(BaseModel):
    """The `initializationOptions`. An editor that sends none gets a server that does everything but ask a model."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, extra="ignore")

    trusted: bool = True
    """False: the workspace may be hostile. Nothing in it is run: no git, no compiler, no kernel."""
    confirms_edits: bool = False
    """The editor shows an accepted edit to the person and then asks for it by `klineage.applyAccepted`."""
    command_links: bool = False
    """The editor follows `command:` links in hover cards."""
    device: Literal["auto", "cuda", "emulated"] = "auto"
    check_on_save: bool = False
    """Check the kernels of a saved document on the emulated device, each with its workload."""
    check_seconds: float = Field(default=10.0, gt=0)
    """What checking one document may take."""
    hypotheses: bool = False
    """Offer also skills that no verified use on another kernel has admitted."""
    model_base_url: str = ""
    model_name: str = ""

    @classmethod
    def read(cls, options: Any) -> tuple[Settings, str | None]:
        """The settings, and what was wrong with the options when they could not be read."""
        if options is None:
            return cls(), None
        try:
            return cls.model_validate(options), None
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "initializationOptions"
            return cls(), f"{where}: {first['msg']}; the defaults are used"


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
        known = {"KLINEAGE_BASE_URL": settings.model_base_url, "KLINEAGE_MODEL": settings.model_name}
        if self.value is not None and settings.model_base_url:
            known[KEY_VARIABLE] = self.value.get_secret_value()
        return {name: value for name, value in known.items() if value}
