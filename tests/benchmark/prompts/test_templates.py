"""A user's templates override the defaults; faults in them are reported before any call is paid for."""

from pathlib import Path

import pytest

from benchmark.methods import METHODS, SettingsError, parse_settings
from benchmark.prompts import VisibleProblem, our_templates, solve_prompt

TASK = VisibleProblem("1", "Count the cows.", time_limit=2, memory_limit=2**28)


def test_templates_of_ones_own_go_before_ours_and_have_hashes_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "instructions.txt").write_text("Solve in {{language}}.\n{{include program_block}}\n")
    (tmp_path / "program_block.txt").write_text("End with ```{{fence}}.\n")
    (tmp_path / "feedback").mkdir()
    (tmp_path / "feedback" / "wa.txt").write_text("Sample {{number}}: no.\n")
    form = parse_settings(METHODS["zero-shot"].settings, [f"prompts={tmp_path}", "state_limits=false"]).form
    [message] = solve_prompt(TASK, form).messages
    assert message.content == (
        "Solve in Python 3.\nEnd with ```python.\n\n[BEGIN PROBLEM]\nCount the cows.\n[END PROBLEM]"
    )
    ours = our_templates()
    changed = {name for name in ours.texts if form.templates.hash(name) != ours.hash(name)}
    assert {name for name in changed if not any(own in name for own in ("refine", "oracle/", "slow/"))} == {
        "instructions", "program_block", "feedback/wa", "revision", "revision_untold", "revision_reflected",
    }  # fmt: skip


def test_a_custom_template_also_replaces_its_variant(tmp_path: Path) -> None:
    (tmp_path / "revision.txt").write_text("Mend it in {{language}}, within ```{{fence}}.\n")
    (tmp_path / "similar_problems.txt").write_text("Others: {{similar_problems}}\n")
    texts = parse_settings(METHODS["reflexion"].settings, [f"prompts={tmp_path}"]).form.templates.texts
    assert texts["revision_reflected"] == texts["revision"] == "Mend it in {{language}}, within ```{{fence}}."
    assert texts["similar_problems_same"] == "Others: {{similar_problems}}"
    (tmp_path / "similar_problems_same.txt").write_text("The same: {{similar_problems}}\n")
    texts = parse_settings(METHODS["reflexion"].settings, [f"prompts={tmp_path}"]).form.templates.texts
    assert texts["similar_problems_same"] == "The same: {{similar_problems}}"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {},
            "holds no template. A template is a text file NAME.txt; names: analysis, attempt, attempt_reflection",
        ),
        (
            {"instruction.txt": "x"},
            "instruction.txt is not a template of Hintbench. Did you mean instructions.txt?",
        ),
        ({"problem.txt": "Solve it."}, "problem.txt: {{problem}} is missing."),
        ({"problem.txt": "{{problem}} {{title}}"}, "nothing is filled in for {{title}}. There is problem."),
        ({"your_turn.txt": "{{turn}}"}, "nothing is filled in for {{turn}}. There is none in this template."),
        ({"problem.txt": "{{include more}}{{problem}}"}, "problem.txt: there is no more.txt to include."),
        ({"problem.txt": "{{problem}}{{include problem}}"}, "problem.txt: includes itself."),
        ({"problem.txt": b"\xff\xfe"}, "problem.txt cannot be read"),
    ],
)
def test_what_is_wrong_with_a_folder_is_said(
    files: dict[str, str | bytes], said: str, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SettingsError) as raised:
        parse_settings(METHODS["zero-shot"].settings, [f"prompts={tmp_path}"])
    assert said in str(raised.value)


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(SettingsError, match="/nowhere is not a folder of templates"):
        parse_settings(METHODS["zero-shot"].settings, ["prompts=/nowhere"])
