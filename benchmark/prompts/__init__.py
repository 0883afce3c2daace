"""What models are asked: template files, and the only code that fills them in."""

from benchmark.prompts.assembly import ORDINALS, Prompt, PromptLeak, Task, episodic_prompt, zero_shot_prompt
from benchmark.prompts.templates import template_hash

__all__ = ["ORDINALS", "Prompt", "PromptLeak", "Task", "episodic_prompt", "template_hash", "zero_shot_prompt"]
