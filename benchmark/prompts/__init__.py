"""What models are asked: template files, and the only code that fills them in."""

from benchmark.prompts.assembly import (
    NOTHING,
    ORDINALS,
    REVISION_TEMPLATES,
    SIMILAR_TEMPLATES,
    SOLVE_TEMPLATES,
    TEXTBOOK_TEMPLATES,
    Attempt,
    Form,
    Material,
    Prompt,
    Task,
    revision_prompt,
    solve_prompt,
)
from benchmark.prompts.feedback import FEEDBACKS, Feedback, SampleResult, SampleRun
from benchmark.prompts.leaks import PromptLeak
from benchmark.prompts.templates import template_hash

__all__ = [
    "FEEDBACKS",
    "NOTHING",
    "ORDINALS",
    "REVISION_TEMPLATES",
    "SIMILAR_TEMPLATES",
    "SOLVE_TEMPLATES",
    "TEXTBOOK_TEMPLATES",
    "Attempt",
    "Feedback",
    "Form",
    "Material",
    "Prompt",
    "PromptLeak",
    "SampleResult",
    "SampleRun",
    "Task",
    "revision_prompt",
    "solve_prompt",
    "template_hash",
]
