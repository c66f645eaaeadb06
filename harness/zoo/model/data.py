"""The form of all stored data: unknown keys are refused, and nothing changes after it was read."""

from pydantic import BaseModel, ConfigDict


class Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
