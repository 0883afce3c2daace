"""A new method is one module and a registry entry; a new provider is one module, a registry entry and its settings."""

import sys
from pathlib import Path

from django.conf import settings as django_settings
from django.core.management import call_command

from benchmark.methods import METHODS
from benchmark.methods.composition import compose
from benchmark.providers.registry import PROVIDERS, ProviderEntry
from tests.benchmark.runs.bank import REPLY
from tests.benchmark.runs.conftest import CommandSandbox
from tests.benchmark.runs.processes import run_apart, use_var
from tests.fake_providers import Script, pieces_of

METHOD_MODULE = '''
"""Two answers to the same prompt, of which the last counts."""

from pydantic.dataclasses import dataclass

from benchmark.methods.composition import Strategy, fixed_templates
from benchmark.methods.settings import MethodSettings, option
from benchmark.methods.zero_shot import solve_once


@dataclass(frozen=True)
class LastOfSettings(MethodSettings):
    """Setting for the number of answers."""

    answers: int = option(1, "answers to the same prompt", ge=1)


async def last_of(chain, settings, retrieved):
    for _ in range(settings.answers):
        answer = await solve_once(chain, settings, retrieved)
    return answer


LAST_OF = Strategy(
    name="last-of",
    summary="Ask several times; the last answer counts.",
    source="a test",
    settings=LastOfSettings,
    templates=fixed_templates(),
    solve=last_of,
)
'''

PROVIDER_MODULE = '''
"""A provider that repeats the text in its settings."""

from django.conf import settings

from benchmark.providers import Completed, ProviderError, TextDelta, TokenUsage


class EchoProvider:
    scripted = False

    def __init__(self):
        if not settings.ECHO_TEXT:
            raise ProviderError("configuration", "Echo: no text. Set ECHO_TEXT.")

    async def stream(self, model, messages, parameters):
        yield TextDelta(settings.ECHO_TEXT)
        yield Completed(TokenUsage(3, 2, None, None), model, "stop", "echo-1")

    async def aclose(self):
        pass
'''


def run_last_of(var: Path, values: dict[str, str], folder: str) -> None:
    use_var(var)
    for name, value in values.items():
        setattr(django_settings, name, value)
    sys.path.insert(0, folder)
    import last_of  # type: ignore[import-not-found]

    method = compose((), last_of.LAST_OF)
    METHODS[method.name] = method
    run = "run_baseline", "--dataset", "orchard", "--model", "openai:gpt-4o", "--limit", "2"
    call_command(*run, "--method", "last-of", "--set", "answers=2")
    call_command("methods", "last-of")


def test_a_method_is_one_module_and_a_registry_entry(commands: CommandSandbox, tmp_path: Path) -> None:
    commands.fake_providers.script(*[Script(pieces_of(REPLY))] * 4)
    folder = tmp_path / "method"
    folder.mkdir()
    (folder / "last_of.py").write_text(METHOD_MODULE)
    run_apart(run_last_of, commands.var, commands.settings, str(folder))
    assert commands.rows("select method, state from benchmark_run") == [("last-of", "finished")]
    assert commands.rows("select step, count(*) from benchmark_generation group by step") == [(0, 2), (1, 2)]
    assert (
        commands.rows(
            "select g.step, i.state from benchmark_workitem i join benchmark_generation g on g.id = i.selected_id"
        )
        == [(1, "done")] * 2
    )


def run_echo(var: Path, folder: str) -> None:
    use_var(var)
    django_settings.ECHO_TEXT = REPLY
    sys.path.insert(0, folder)
    PROVIDERS["echo"] = ProviderEntry("echo_provider:EchoProvider", requires="ECHO_TEXT")
    run = "run_baseline", "--dataset", "orchard", "--method", "zero-shot", "--limit", "2"
    call_command(*run, "--model", "echo:m")


def test_a_provider_is_one_module_a_registry_entry_and_its_settings(
    commands: CommandSandbox, tmp_path: Path
) -> None:
    folder = tmp_path / "provider"
    folder.mkdir()
    (folder / "echo_provider.py").write_text(PROVIDER_MODULE)
    run_apart(run_echo, commands.var, str(folder))
    assert commands.rows("select model_spec, state, paid_calls from benchmark_run") == [
        ("echo:m", "finished", 2)
    ]
    assert commands.rows("select distinct text, request_id from benchmark_generation") == [(REPLY, "echo-1")]
