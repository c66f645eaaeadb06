"""The base of all stored data: unknown keys are rejected, and nothing changes after it was read."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from zoo.core.errors import UserError


class NewerProtocol(UserError):
    """Stored data that a newer harness measured; the message names both protocols."""


class Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class VersionedData(Data):
    """Stored data with a field `protocol`; the field's default is the newest protocol that this harness knows."""

    @model_validator(mode="before")
    @classmethod
    def _check_protocol(cls, data: Any) -> Any:  # noqa: ANN401 (unvalidated input)
        if isinstance(data, dict):
            check_protocol(data.get("protocol"), cls.model_fields["protocol"].default)
        return data


def check_protocol(found: object, newest: int) -> None:
    """Raise `NewerProtocol` if stored data has a protocol that this harness does not know yet."""
    if isinstance(found, int) and found > newest:
        raise NewerProtocol(
            f"measured with protocol {found}, but this harness knows protocols up to {newest} only: "
            "update it with git pull"
        )
