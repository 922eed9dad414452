"""What goes to or comes from an editor."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Message(BaseModel):
    """Its fields are in camel case on the way."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, validate_by_name=True)
