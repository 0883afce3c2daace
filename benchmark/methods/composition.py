"""Composition of a method from any number of retrievers and one strategy."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmark.methods.method import Chain, Method, Scoring
from benchmark.methods.retrieval import Retrieved, RetrieveFunction, retrieve
from benchmark.methods.settings import MethodSettings
from benchmark.models import Generation
from benchmark.prompts import SOLVE_TEMPLATES


@dataclass(frozen=True)
class Component:
    """A part of a method: name, line of help, source, settings and templates."""

    name: str
    summary: str
    source: str
    settings: type[MethodSettings]
    templates: Callable[[Any], tuple[str, ...]]
    """Returns the names of the templates that the component uses under given settings."""
    warning: str = field(default="", kw_only=True)
    """The text shown beside every figure of the method."""
    in_usaco_paper: bool = field(default=False, kw_only=True)
    """Whether the USACO paper evaluates methods made of such components."""


def fixed_templates(*names: str) -> Callable[[Any], tuple[str, ...]]:
    """Return the `Component.templates` of a component that uses the same templates under all settings."""
    return lambda _settings: names


@dataclass(frozen=True)
class Retriever(Component):
    """A retrieval step, usually with a query made of the problem and a draft."""

    retrieve: RetrieveFunction
    needs_analysis: bool = False
    """Whether it retrieves nothing for a problem without an analysis."""


@dataclass(frozen=True)
class Strategy(Component):
    """The step that makes an attempt from the problem and the retrieved texts."""

    solve: Callable[[Chain, Any, Retrieved], Awaitable[Generation]]
    needs_verifier: bool = False
    """Whether it cannot score candidates of a problem without a verifier."""
    needs_outputs: bool = False
    """Whether an input must have one finished output, unlike in interactive and multi-pass problems."""
    scoring: Scoring = "pass"


def compose(retrievers: Sequence[Retriever], strategy: Strategy) -> Method:
    """Return the method that retrieves once and then applies the strategy (docs/spec.md 1.2, A6).

    The method has the settings of all components. Its name joins their names, except that "zero-shot" is only named
    where nothing is retrieved.
    """

    async def solve(chain: Chain, settings: Any) -> Generation:
        retrieved = Retrieved()
        if retrievers:
            retrieved = await retrieve(chain, settings, [one.retrieve for one in retrievers])
        return await strategy.solve(chain, settings, retrieved)

    def templates(settings: Any) -> tuple[str, ...]:
        used = (name for component in components for name in component.templates(settings))
        return tuple(dict.fromkeys((*SOLVE_TEMPLATES, *used)))

    components: list[Component] = [*retrievers, strategy]
    named: Sequence[Component] = retrievers if retrievers and strategy.name == "zero-shot" else components
    name = "+".join(component.name for component in named)
    return Method(
        name=name,
        summary=" ".join(component.summary for component in components),
        source="; ".join(component.source for component in named),
        warning=" ".join(component.warning for component in components if component.warning),
        settings_classes=tuple(component.settings for component in components),
        templates=templates,
        needs_analysis=any(retriever.needs_analysis for retriever in retrievers),
        needs_verifier=strategy.needs_verifier,
        needs_outputs=strategy.needs_outputs,
        in_usaco_paper=all(component.in_usaco_paper for component in components),
        scoring=strategy.scoring,
        solve=solve,
    )
