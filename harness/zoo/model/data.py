"""The form of all stored data: unknown keys are refused, and nothing changes after it was read."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from zoo.model.errors import UserError


class NewerProtocol(UserError):
    """Stored data that a newer harness measured; the message names both protocols."""


class Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Measured(Data):
    """Stored data with a field `protocol`, whose default is the newest that this harness knows."""

    @model_validator(mode="before")
    @classmethod
    def _check_protocol(cls, data: Any) -> Any:  # noqa: ANN401 (whatever is to be validated)
        if isinstance(data, dict):
            check_protocol(data.get("protocol"), cls.model_fields["protocol"].default)
        return data


def check_protocol(found: object, newest: int) -> None:
    """`NewerProtocol` when stored data is of a protocol that this harness does not know yet."""
    if isinstance(found, int) and found > newest:
        raise NewerProtocol(
            f"measured with protocol {found}, and this harness knows protocols up to {newest}; update it with: git pull"
        )
