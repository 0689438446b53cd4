"""NeMo-Gym: a resources server whose ``verify`` is a recipe; docs/trainers.md has its YAML.

A row's ``target`` is the truth. The options stand in the server's config, or in the variable GROUNDING_REWARDS_OPTIONS.
Unlike most others, this file imports its trainer: it exists to subclass its server.
"""

from __future__ import annotations

import asyncio
from typing import Any

from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from pydantic import ConfigDict

from grounding_rewards_adapters import _small

_TRAINER = _small.trainer("NeMo-Gym", "the data set's target")


class Config(BaseResourcesServerConfig):  # type: ignore[misc]  # its types are not read
    """The server's config, with the reward's options."""

    options: dict[str, Any] = {}  # noqa: RUF012 (pydantic copies it)


class Request(BaseVerifyRequest):  # type: ignore[misc]
    """A response, its target, and all other fields of the row."""

    model_config = ConfigDict(extra="allow")
    target: Any = None


class Response(BaseVerifyResponse):  # type: ignore[misc]
    """The reward, with acc, valid, parsed, in_image and the parts beside it."""

    model_config = ConfigDict(extra="allow")


class GroundingServer(SimpleResourcesServer):  # type: ignore[misc]
    """A server that scores the text of a response's last message."""

    config: Config

    async def verify(self, body: Request) -> Response:
        """Score one response; ``mask_sample`` says that its target cannot be used, which newer versions leave out."""
        texts = [
            "".join(part.text for part in item.content if part.type == "output_text")
            for item in body.response.output
            if item.type == "message"
        ]
        row = [texts[-1] if texts else None], [body.target], [body.model_extra or {}]
        (found,) = await asyncio.to_thread(_small.scored, _TRAINER, self.config.options, *row)
        own = body.model_dump() | {name: value for name, value in found.items() if name != "total"}
        return Response(**own | {"reward": found["total"], "mask_sample": not found["valid"]})
