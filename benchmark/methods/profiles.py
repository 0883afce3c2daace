"""Profiles: the settings that a published evaluation used, as data in profiles.toml (METHODS.md 14)."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Profile:
    """Settings as texts for `parse_settings`, and attempts by method; `assumed` is what the papers leave open."""

    name: str
    summary: str
    assumed: str
    settings: tuple[str, ...]
    attempts: Mapping[str, int] = field(default_factory=dict)
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def settings_for(self, model: str) -> list[str]:
        """The settings with this model, the later ones going before the earlier."""
        special = [text for part, texts in self.models.items() if part in model for text in texts]
        return [*self.settings, *special]


def _read() -> dict[str, Profile]:
    tables = tomllib.loads((Path(__file__).parent / "profiles.toml").read_text(encoding="utf-8"))
    return {name: Profile(name=name, **table) for name, table in tables.items()}


PROFILES = _read()
