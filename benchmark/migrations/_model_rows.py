"""Rows of models for records that are older than the table of models. Two migrations use this module."""

import hashlib
import json
import re

from django.utils import timezone

PROVIDERS = ("openai", "anthropic", "compatible", "practice")
"""The providers of the versions before the table of models."""


class ModelRows:
    """The rows of the table by model and parameters; a missing one is made, as used already."""

    def __init__(self, models):
        self.models = models
        self.ids = {}
        self.versions = {}
        self.specs = {}
        for pk, label, version, spec, parameters in models.values_list(
            "pk", "label", "version", "spec", "parameters"
        ).order_by("pk"):
            self.ids[self._key(spec, parameters)] = pk
            self._count(label, version, spec)

    def id_of(self, spec, parameters):
        """Return the id of the row, or None if the text is no model of a provider."""
        provider, _, model = spec.partition(":")
        if provider not in PROVIDERS or not model.strip() or not model.isprintable():
            return None
        key = self._key(spec, parameters)
        if key not in self.ids:
            self.ids[key] = self._make(spec, parameters).pk
        return self.ids[key]

    @staticmethod
    def _key(spec, parameters):
        return spec, json.dumps(parameters, sort_keys=True)

    def _count(self, label, version, spec):
        self.versions[label] = max(version, self.versions.get(label, 0))
        self.specs.setdefault(label, spec)

    def _make(self, spec, parameters):
        label = self._label(spec)
        version = self.versions.get(label, 0) + 1
        self._count(label, version, spec)
        content = {"spec": spec, "parameters": parameters, "context_tokens": None}
        return self.models.create(
            label=label,
            version=version,
            spec=spec,
            parameters=parameters,
            content_hash=hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest(),
            automatic=True,
            frozen_at=timezone.now(),
        )

    def _label(self, spec):
        """Return the model's name as a label, with its provider or a number if another model has that label."""
        names = [
            re.sub(r"[^\w.-]+", "-", text).strip("-")[:70] or "model"
            for text in (spec.partition(":")[2], spec)
        ]
        numbered = (f"{names[-1]}-{number}" for number in range(2, len(self.specs) + 3))
        return next(name for name in (*names, *numbered) if self.specs.get(name, spec) == spec)
