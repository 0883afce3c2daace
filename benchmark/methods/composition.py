"""A method is composed of searches for help, any number of them, and one way to answer."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, make_dataclass
from typing import Any

from benchmark.methods.method import Chain, Method, Scoring
from benchmark.methods.retrieval import Retrieved, RetrieveFunction, retrieve
from benchmark.methods.settings import MethodSettings
from benchmark.models import Generation
from benchmark.prompts import SOLVE_TEMPLATES


@dataclass(frozen=True)
class Component:
    """What a part brings into a method: a name, a line of help, where it is from, its settings and its templates."""

    name: str
    summary: str
    source: str
    settings: type[MethodSettings]
    templates: Callable[[Any], tuple[str, ...]]
    """Names the templates that the part uses with given settings."""
    caveat: str = field(default="", kw_only=True)
    """What stands beside every figure of the method."""


def always(templates: tuple[str, ...]) -> Callable[[Any], tuple[str, ...]]:
    """Return the `Part.templates` of a part that uses the same templates with all settings."""
    return lambda settings: templates


@dataclass(frozen=True)
class Retriever(Component):
    """A search for texts, as a rule with a query made of the problem and a draft."""

    find: RetrieveFunction
    needs_analysis: bool = False
    """Whether there is nothing to show for a problem without an analysis."""


@dataclass(frozen=True)
class Strategy(Component):
    """A way to get from the problem, and what was found for it, to the attempt."""

    solve: Callable[[Chain, Any, Retrieved], Awaitable[Generation]]
    needs_verifier: bool = False
    """Whether there is nothing to go by for a problem without a verifier."""
    needs_outputs: bool = False
    """Whether a finished output must answer an input, which is not so for interactive and multi-pass problems."""
    scoring: Scoring = "pass"


def compose(searches: Sequence[Retriever], answer: Strategy) -> Method:
    """The searches once, before the first question; then the answer with what they found (docs/spec.md 1.2, A6).

    The settings are those of all parts. The name is made of theirs, but "zero-shot" stands alone: it
    says that nothing was found.
    """

    async def solve(chain: Chain, settings: Any) -> Generation:
        found = Retrieved()
        if searches:
            found = await retrieve(chain, settings, [search.find for search in searches])
        return await answer.solve(chain, settings, found)

    def templates(settings: Any) -> tuple[str, ...]:
        used = (name for part in parts for name in part.templates(settings))
        return tuple(dict.fromkeys((*SOLVE_TEMPLATES, *used)))

    parts: list[Component] = [*searches, answer]
    named: Sequence[Component] = searches if searches and answer.name == "zero-shot" else parts
    name = "+".join(part.name for part in named)
    return Method(
        name=name,
        summary=" ".join(part.summary for part in parts),
        source="; ".join(part.source for part in named),
        caveat=" ".join(part.caveat for part in parts if part.caveat),
        settings=make_dataclass(name, (), bases=tuple(part.settings for part in parts), frozen=True),
        templates=templates,
        needs_analysis=any(search.needs_analysis for search in searches),
        needs_verifier=answer.needs_verifier,
        needs_outputs=answer.needs_outputs,
        scoring=answer.scoring,
        solve=solve,
    )
