"""What goes to or comes from an editor."""

from __future__ import annotations

from typing import TypeVar

from lsprotocol import types
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from pygls.exceptions import JsonRpcInvalidParams

M = TypeVar("M", bound=BaseModel)


class Message(BaseModel):
    """Its fields are in camel case on the way."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, validate_by_name=True)


def argument(model: type[M], params: types.ExecuteCommandParams) -> M:
    """The one argument of a command. Raises `JsonRpcInvalidParams`, which says what is wrong with it."""
    try:
        return model.model_validate((params.arguments or [None])[0])
    except ValidationError as error:
        raise JsonRpcInvalidParams.of(error) from error
