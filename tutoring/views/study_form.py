"""The form of a study's design: its fields as JSON values, and JSON values as its fields."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

SPARE_ARMS = 2
"""Empty arms below the filled ones."""

_TEXT = ("name", "title", "strata", "primary_outcome")
_NUMBERS = ("sessions_per_cell", "expiry_days")
_ARM_TEXT = ("name", "protocol", "model", "method")
_MINUS = re.compile(r" (?:minus|less) ")  # preregistrations say "less"


def design_values(form: QueryDict) -> dict[str, Any]:
    """Return the JSON values of a design from the submitted form. Empty fields are left out."""
    values: dict[str, Any] = {
        **{name: text for name in _TEXT if (text := form.get(name, "").strip())},
        **{name: _number(text) for name in _NUMBERS if (text := form.get(name, "").strip())},
        "questions": _lines(form.get("questions", "")),
        "arms": list(_arms(form)),
        "problems": _problems(form),
        "tutors": form.getlist("tutors"),
        "primary_contrast": [form.get("first", "").strip(), form.get("second", "").strip()],
        "secondary_contrasts": [
            [part.strip() for part in _MINUS.split(line)] for line in _lines(form.get("secondary", ""))
        ],
        "stopping": _stopping(form),
        "rehearsal": "rehearsal" in form,
    }
    return values


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _number(text: str) -> int | float | str:
    """Return the number in the text; any other text is kept, so that the design's schema refuses it."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _arms(form: QueryDict) -> Iterator[dict[str, Any]]:
    index = 0
    while f"arm-{index}-kind" in form:
        typed = {
            name: form.get(f"arm-{index}-{name}", "").strip() for name in (*_ARM_TEXT, "settings", "draws")
        }
        kind = form.get(f"arm-{index}-kind", "")
        index += 1
        if not typed["name"]:
            continue
        arm: dict[str, Any] = {"kind": kind, "name": typed["name"], "model": typed["model"]}
        if kind == "automatic":
            arm |= {"method": typed["method"], "settings": _settings(typed["settings"])}
            if typed["draws"]:
                arm["draws"] = _number(typed["draws"])
        else:
            arm["protocol"] = typed["protocol"]
        yield arm


def _settings(text: str) -> dict[str, Any]:
    """Return the settings in lines NAME=VALUE. A line without a value is kept, so that freezing refuses it."""
    found: dict[str, Any] = {}
    for line in _lines(text):
        name, _, value = (part.strip() for part in line.partition("="))
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = None if value == "none" else value
    return found


def _problems(form: QueryDict) -> dict[str, Any]:
    query: dict[str, Any] = {"dataset": form.get("dataset", "")}
    if tiers := form.getlist("tiers"):
        query["tiers"] = tiers
    query |= {name: names for name in ("only", "without") if (names := form.get(name, "").split())}
    dates = ("first_contest", "last_contest")
    return query | {name: day for name in dates if (day := form.get(name, "").strip())}


def _stopping(form: QueryDict) -> dict[str, Any]:
    stopping: dict[str, Any] = {"rule": form.get("rule", "fixed")}
    return stopping | {
        name: _number(text) for name in ("threshold", "maximum") if (text := form.get(name, "").strip())
    }


@dataclass(frozen=True)
class ArmFields:
    """The fields of one arm of the form."""

    index: int
    kind: str = "human"
    name: str = ""
    protocol: str = ""
    model: str = ""
    method: str = ""
    settings: str = ""
    draws: object = ""
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class DesignFields:
    """The fields of the form as texts, from the JSON values of a design that may have faults."""

    values: Mapping[str, Any]
    faults: Mapping[str, list[str]]
    """Sentences by field of the form; `general` has those that belong to no field."""

    @property
    def text(self) -> dict[str, Any]:
        """Return the simple fields by name."""
        names = (*_TEXT, *_NUMBERS)
        usual = {"strata": "tier", "sessions_per_cell": 1, "expiry_days": 14, "primary_outcome": "solved"}
        return {name: self.values.get(name, usual.get(name, "")) for name in names}

    @property
    def questions(self) -> str:
        """Return the questions, one per line."""
        return "\n".join(map(str, self.values.get("questions") or ()))

    @property
    def secondary(self) -> str:
        """Return the secondary contrasts, one per line."""
        return "\n".join(
            " minus ".join(map(str, pair)) for pair in self.values.get("secondary_contrasts") or ()
        )

    @property
    def contrast(self) -> list[str]:
        """Return the two arms of the primary contrast."""
        return [*map(str, self.values.get("primary_contrast") or ()), "", ""][:2]

    @property
    def problems(self) -> dict[str, Any]:
        """Return the fields of the query of problems."""
        query = self.values.get("problems") or {}
        return {
            "dataset": query.get("dataset", ""),
            "tiers": list(query.get("tiers") or ()),
            "only": " ".join(query.get("only") or ()),
            "without": " ".join(query.get("without") or ()),
            "first_contest": query.get("first_contest") or "",
            "last_contest": query.get("last_contest") or "",
        }

    @property
    def stopping(self) -> dict[str, Any]:
        """Return the fields of the stopping rule."""
        stopping = self.values.get("stopping") or {}
        maximum = stopping.get("maximum")
        return {
            "rule": stopping.get("rule", "fixed"),
            "threshold": stopping.get("threshold", ""),
            "maximum": "" if maximum is None else maximum,
        }

    @property
    def tutors(self) -> list[str]:
        """Return the user names of the chosen tutors."""
        return list(self.values.get("tutors") or ())

    @property
    def rehearsal(self) -> bool:
        """Return whether the study is a rehearsal."""
        return self.values.get("rehearsal") is True

    @property
    def arms(self) -> list[ArmFields]:
        """Return the filled arms, then empty ones."""
        filled = [
            ArmFields(
                index,
                arm.get("kind", "human"),
                arm.get("name", ""),
                arm.get("protocol") or "",
                arm.get("model") or "",
                arm.get("method") or "",
                "\n".join(f"{name}={_setting(value)}" for name, value in (arm.get("settings") or {}).items()),
                arm.get("draws", ""),
                self.faults[f"arms.{index}"],
            )
            for index, arm in enumerate(self.values.get("arms") or ())
        ]
        spare = max(SPARE_ARMS - len(filled), 1)
        return filled + [ArmFields(len(filled) + extra) for extra in range(spare)]


def _setting(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


_FIELDS = {
    "primary_contrast": "primary_contrast",
    "secondary_contrasts": "secondary",
    "problems": "problems",
    "stopping": "stopping",
}


def faults_by_form_field(faults: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the sentences about a design by field of the form."""
    found: dict[str, list[str]] = defaultdict(list)
    for path, text in faults:
        parts = path.split(".")
        sentence = f"{text[:1].upper()}{text[1:]}."
        if parts[0] == "arms" and len(parts) > 1 and parts[1].isdigit():
            named = parts[3] if len(parts) > 3 else ""
            found[f"arms.{parts[1]}"].append(f"{named}: {text}." if named else sentence)
        elif parts[0] in ("problems", "stopping") and len(parts) > 1:
            found[parts[1]].append(sentence)
        elif not path:
            found["contrasts" if "contrast" in text else "arms"].append(sentence)
        else:
            found[_FIELDS.get(parts[0], parts[0])].append(sentence)
    return found
