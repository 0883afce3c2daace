"""Profiles: the settings of published evaluations, as data in profiles.toml (docs/spec.md 14)."""

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Profile:
    """Settings as texts for `parse_settings`, and attempts by method.

    `assumed` names the assumptions where the papers are silent. `methods` and `models` add settings for methods and
    models whose names contain a text. `version` increases with every change of the profile's meaning.
    """

    name: str
    summary: str
    assumed: str
    settings: tuple[str, ...]
    version: int = 1
    attempts: Mapping[str, int] = field(default_factory=dict)
    methods: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def settings_for(self, model: str, method: str = "") -> list[str]:
        """Return the settings with this model and method; later ones override earlier ones."""
        return [
            *self.settings,
            *(text for part, texts in self.methods.items() if part in method for text in texts),
            *(text for part, texts in self.models.items() if part in model for text in texts),
        ]

    def to_json(self) -> dict[str, Any]:
        """Return all fields by name."""
        return asdict(self)

    @property
    def record(self) -> dict[str, Any]:
        """The profile as a run's manifest stores it."""
        return {"name": self.name, "version": self.version, "assumed": self.assumed}


def _read() -> dict[str, Profile]:
    tables = tomllib.loads((Path(__file__).parent / "profiles.toml").read_text(encoding="utf-8"))
    return {name: Profile(name=name, **table) for name, table in tables.items()}


PROFILES = _read()
