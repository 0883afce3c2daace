"""What models are asked: template files, and the only code that fills them in."""

from benchmark.prompts.assembly import (
    ANALYSIS_TEMPLATES,
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
from benchmark.prompts.refinement import REFINE_TEMPLATES, HiddenRun, Turn, refine_prompt
from benchmark.prompts.templates import TemplateError, Templates, our_templates, templates_with

__all__ = [
    "ANALYSIS_TEMPLATES",
    "FEEDBACKS",
    "NOTHING",
    "ORDINALS",
    "REFINE_TEMPLATES",
    "REVISION_TEMPLATES",
    "SIMILAR_TEMPLATES",
    "SOLVE_TEMPLATES",
    "TEXTBOOK_TEMPLATES",
    "Attempt",
    "Feedback",
    "Form",
    "HiddenRun",
    "Material",
    "Prompt",
    "PromptLeak",
    "SampleResult",
    "SampleRun",
    "Task",
    "TemplateError",
    "Templates",
    "Turn",
    "our_templates",
    "refine_prompt",
    "revision_prompt",
    "solve_prompt",
    "templates_with",
]
