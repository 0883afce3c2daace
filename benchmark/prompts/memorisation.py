"""The prompts of memory probes: complete a statement or a sample from its beginning."""

from benchmark.prompts.assembly import Prompt
from benchmark.prompts.templates import our_templates
from benchmark.providers import Message


def completion_prompt(kind: str, source: str, beginning: str) -> Prompt:
    """Return the prompt to complete a "statement" or a "sample"; `source` is title and contest, or blank."""
    templates = our_templates()
    name = f"memorisation/{kind}"
    text = templates.render(name, source=f" ({source})" if source else "", beginning=beginning)
    return Prompt((Message("user", text),), templates.hash(name))
