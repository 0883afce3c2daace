"""manage.py probe_memory: a memoriser and an honest model, budgets, repetition, and the column of reports."""

import json
import random
from collections.abc import Callable
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from benchmark.memorisation import ProbedModel
from benchmark.memorisation.scoring import MOST_OTHERS, ProblemOrigin, others_of, score
from benchmark.memorisation.texts import share_of, split_sample, split_statement
from benchmark.models import Dataset, LanguageModel, MemoryProbe, Problem, Run, TestCase, WorkItem, blobs
from benchmark.providers import Parameters, parse_model_spec
from benchmark.providers.registry import PROVIDERS, ProviderEntry
from benchmark.reports import FORMATS, measure
from benchmark.reports.cached_report import run_report, store_report
from tests.benchmark.memorisation.memoriser import GENERIC, ScriptedMemory
from tests.benchmark.runs.processes import run_apart, use_var
from tests.cached_fixtures import add_database
from tests.stack import REPOSITORY

CUTOFF = date(2023, 6, 30)
PROBLEMS = 24
WORDS = [
    first + last
    for first in (
        "bar",
        "cel",
        "dro",
        "fen",
        "gul",
        "hap",
        "kin",
        "lom",
        "mir",
        "nov",
        "pel",
        "rud",
        "sot",
        "tav",
    )
    for last in (
        "ane",
        "bit",
        "cor",
        "den",
        "ful",
        "gan",
        "hol",
        "ing",
        "kel",
        "low",
        "mer",
        "nus",
        "pot",
        "ren",
    )
]


def statement_of(number: int) -> str:
    """Return a statement of 15 sentences; the last ones are those of any contest."""
    chance = random.Random(number)
    sentences = [" ".join(chance.choices(WORDS, k=11)).capitalize() + "." for _ in range(12)]
    return " ".join(sentences) + " " + GENERIC.strip()


def sample_of(number: int) -> tuple[str, str]:
    chance = random.Random(-number)
    lines = [" ".join(str(chance.randint(1, 10**6)) for _ in range(6)) for _ in range(6)]
    return "\n".join(["6 6", *lines]) + "\n", f"{chance.randint(1, 10**9)}\n"


def fill(problems: int = PROBLEMS) -> Dataset:
    """Store problems of contests of four; the contests before the cutoff and after it alternate."""
    dataset = Dataset.objects.create(name="contests", format="usaco")
    for number in range(problems):
        contest = number // 4
        problem = Problem.objects.create(
            dataset=dataset,
            external_id=f"p{number:02}",
            title=f"Problem {number}",
            tier="bronze",
            statement=statement_of(number),
            statement_format="usaco",
            time_limit=1,
            memory_limit=1,
            checker={},
            contest=f"Contest {contest}",
            contest_date=date(2022 if contest % 2 == 0 else 2024, 1 + contest, 1),
            content_hash=f"{number:064}",
        )
        given, answer = sample_of(number)
        TestCase.objects.create(
            problem=problem,
            order=0,
            name="1",
            origin="sample",
            input_hash=blobs.put(given.encode()),
            answer_hash=blobs.put(answer.encode()),
        )
    return dataset


def command(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command(
        "probe_memory", "--dataset", "contests", "--cutoff", str(CUTOFF), *arguments, "--json", stdout=out
    )
    document: dict[str, Any] = json.loads(out.getvalue())
    return document


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as refused:
        command(*arguments)
    return str(refused.value)


def probe(var: Path, output: str) -> None:
    """Probe both models in a process of its own and write what the commands print."""
    use_var(var)
    PROVIDERS["scripted"] = ProviderEntry(f"{ScriptedMemory.__module__}:ScriptedMemory", scripted=True)
    fill()
    seen = [number for number in range(PROBLEMS) if (number // 4) % 2 == 0]
    ScriptedMemory.known = [statement_of(number) for number in seen]
    ScriptedMemory.known += ["{}\nOutput:\n{}".format(*map(str.strip, sample_of(number))) for number in seen]
    memoriser = ("--model", "scripted:memoriser")
    found: dict[str, Any] = {"dry": command(*memoriser, "--dry-run"), "calls": [ScriptedMemory.calls]}
    found["stopped"] = refusal(*memoriser, "--max-calls", "5", "--concurrency", "1")
    found["calls"].append(ScriptedMemory.calls)
    found["memoriser"] = command(*memoriser)
    found["calls"].append(ScriptedMemory.calls)
    found["again"] = command(*memoriser)
    found["honest"] = command("--model", "scripted:honest")
    found["calls"].append(ScriptedMemory.calls)
    found["draws"] = command(*memoriser, "--draws", "3", "--problems", "p03,p01", "--kind", "statement")
    found["calls"].append(ScriptedMemory.calls)
    found["shares"] = list(
        MemoryProbe.objects.filter(
            problem__external_id="p01", kind="statement", model_spec="scripted:memoriser"
        )
        .order_by("draw")
        .values_list("share", flat=True)
    )
    command(*memoriser, "--seed", "5", "--problems", "p01", "--kind", "statement")
    found["calls"].append(ScriptedMemory.calls)
    text = StringIO()
    call_command("probe_memory", "--dataset", "contests", *memoriser, stdout=text)
    found["text"] = text.getvalue()
    found["unknown"] = refusal(*memoriser, "--problems", "p0,p01")
    found["none"] = refusal(*memoriser, "--problems", ",")
    found["cost"] = refusal(*memoriser, "--max-cost", "1", "--model", "compatible:m")
    Path(output).write_text(json.dumps(found))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("probes")
    var = folder / "var"
    var.mkdir()
    run_apart(probe, add_database(var), str(folder / "found.json"))
    document: dict[str, Any] = json.loads((folder / "found.json").read_text())
    return document


def sides(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["group"]: one for one in document["scores"]}


@pytest.mark.slow
def test_a_memoriser_and_an_honest_model_are_told_apart(found: dict[str, Any]) -> None:
    memoriser, honest = sides(found["memoriser"]), sides(found["honest"])
    assert memoriser["before"]["problems"] == memoriser["after"]["problems"] == PROBLEMS / 2
    assert memoriser["before"]["low"] > 0.6
    assert memoriser["before"]["overlap"] == pytest.approx(1)
    for one in (memoriser["after"], honest["before"], honest["after"]):
        assert one["low"] <= 0 <= one["high"], "generic sentences agree with all problems alike"
        assert abs(one["value"]) < 0.01
    assert found["memoriser"]["before_minus_after"]["low"] > 0.5
    gap = found["honest"]["before_minus_after"]
    assert gap["low"] <= 0 <= gap["high"]
    assert honest["before"]["chance"] > 0.05, (
        "the texts have generic sentences, which count without the others"
    )


@pytest.mark.slow
def test_calls_are_counted_limited_and_never_repeated(found: dict[str, Any]) -> None:
    everything = 2 * PROBLEMS
    assert found["dry"]["missing"] == everything
    assert found["dry"]["estimates"]["expected"]["generations"] == everything
    assert "the budget of 5 calls is used up" in found["stopped"]
    assert found["calls"] == [0, 5, everything, 2 * everything, 2 * everything + 4, 2 * everything + 5]
    assert found["again"] == found["memoriser"]
    assert found["memoriser"]["spent"]["calls"] == everything
    assert found["shares"][0] == pytest.approx(0.4, abs=0.06)
    assert all(0.28 < share < 0.56 for share in found["shares"])
    assert len(found["shares"]) == 3
    assert len(set(found["shares"])) > 1


@pytest.mark.slow
def test_the_command_says_what_it_measured_and_what_is_wrong(found: dict[str, Any]) -> None:
    assert "The model's replies are scripted" in found["text"]
    assert "The model's cutoff is unknown" in found["text"]
    assert "all problems" in found["text"]
    assert "contests has no problem 'p0'. Did you mean" in found["unknown"]
    assert "--problems names no problem" in found["none"]
    assert "--max-cost needs --price" in found["cost"]


def test_short_statements_are_left_out() -> None:
    assert split_statement("Print 42. Do it now.", 0.4) is None
    assert split_statement("", 0.4) is None


@pytest.mark.parametrize(
    "heading",
    [
        "Sample Input 1",
        "### Sample Input 1",
        "[Sample Input 1]",
        "Sample 1:",
        "Examples",
        "EXAMPLES",
        "SAMPLE INPUT:5 7",
    ],
)
def test_the_text_from_the_first_sample_on_is_left_out(heading: str):
    prose = "Bessie counts the cows of the farm. " * 20
    split = split_statement(f"{prose}\n{heading}\n12345\n", 0.4)
    assert split is not None
    assert "12345" not in split.rest
    assert split_sample("1\n", "2\n") is None


@pytest.mark.parametrize("draw", range(4))
@pytest.mark.parametrize("number", range(5))
def test_beginning_and_rest_are_the_text(number: int, draw: int) -> None:
    text = statement_of(number)
    split = split_statement(text + "\n\nSAMPLE INPUT:\n1 2\n", share_of(307, f"p{number}", draw))
    assert split
    assert f"{split.beginning} {split.rest}" == text
    assert split.beginning.endswith(".")


def test_a_sample_is_split_at_a_line_and_a_long_line_at_a_blank() -> None:
    split = split_sample("4\n1 2 3\n4 5 6\n7 8 9\n10 11 12\n", "13 14\n")
    assert split
    assert (split.beginning, split.rest) == ("4\n1 2 3\n4 5 6\n7 8 9", "10 11 12\nOutput:\n13 14")
    numbers = " ".join(map(str, range(100, 140)))
    split = split_sample(numbers, "7")
    assert split
    assert f"{split.beginning} {split.rest}" == f"{numbers}\nOutput:\n7"


def test_others_are_of_the_contest_else_of_the_tier_else_any() -> None:
    places = {
        1: ProblemOrigin("A", "gold"), 2: ProblemOrigin("A", "silver"),
        3: ProblemOrigin("B", "gold"), 4: ProblemOrigin("", ""), 5: ProblemOrigin("C", "iron"),
    }  # fmt: skip
    assert others_of(1, places, 0) == [2]
    assert others_of(3, places, 0) == [1]
    assert sorted(others_of(4, places, 0)) == [1, 2, 3, 5]
    many = {number: ProblemOrigin("A", "") for number in range(50)}
    chosen = others_of(7, many, 1)
    assert len(set(chosen)) == MOST_OTHERS
    assert 7 not in chosen
    assert chosen == others_of(7, many, 1) != others_of(7, many, 2)


def test_a_completion_without_others_has_no_chance_to_subtract() -> None:
    columns = score("one two three four five six", "one two three four five six", [])
    assert (columns["overlap"], columns["chance"], columns["others"]) == (1.0, 0.0, 0)


@pytest.fixture
def run(db: None) -> Run:
    """A finished run of a model with a known cutoff over 8 problems, 4 on each side."""
    dataset = fill(8)
    run = Run.objects.create(
        dataset=dataset,
        method="zero-shot",
        model_spec="openai:gpt-4o-2024-05-13",
        parameters={"temperature": 0.7},
        manifest={"cutoff": str(CUTOFF)},
        state="finished",
    )
    for problem in dataset.problems.all():
        WorkItem.objects.create(run=run, problem=problem, chain=0, state="done")
    return run


@pytest.fixture
def add_probe() -> Callable[..., MemoryProbe]:
    def add(problem: Problem, overlap: float, **fields: Any) -> MemoryProbe:
        columns = {
            "problem_hash": problem.content_hash, "model_spec": "openai:gpt-4o-2024-05-13", "parameters": {},
            "kind": "statement", "draw": 0, "share": 0.4, "rest": "", "overlap": overlap, "chance": 0.1, "others": 3,
            "measures": {}, "messages": [], "key": f"{MemoryProbe.objects.count()}",
        }  # fmt: skip
        return MemoryProbe.objects.create(problem=problem, **columns | fields)

    return add


def test_reports_have_a_column_for_each_side_of_the_cutoff(
    run: Run, add_probe: Callable[..., MemoryProbe]
) -> None:
    store_report(run)
    assert run_report(run).memory == ()
    assert "memory probes" in FORMATS["text"]([run_report(run)])
    problems = list(run.dataset.problems.order_by("external_id"))
    for problem in problems[:4]:
        add_probe(problem, 0.9)
        add_probe(problem, 0.7, kind="sample")
    add_probe(problems[4], 0.9, model_spec="openai:other")
    add_probe(problems[4], 0.9, problem_hash="changed since")
    for figures in (run_report(run), measure(run)):
        [before] = figures.memory
        assert (before.group, before.problems, before.probes) == ("before", 4, 8)
        assert before.value == pytest.approx(0.7)
        rows = FORMATS["text"]([figures]).splitlines()
        [until] = [row for row in rows if f"until {CUTOFF}" in row]
        [after] = [row for row in rows if f"after {CUTOFF}" in row]
        assert until.rstrip().endswith("]")
        assert "70.0 [" in until
        assert "70.0 [" not in after
        assert f"memory probes,cutoff,before,{before.value}," in FORMATS["csv"]([figures])
        assert "<td>70.0 [" in FORMATS["html"]([figures])
        assert json.loads(FORMATS["json"]([figures]))["runs"][0]["memory"][0]["problems"] == 4


def test_the_cutoff_is_that_of_the_newest_row_or_the_known_one(db: None) -> None:
    author = ProbedModel(parse_model_spec("openai:gpt-4o-2024-05-13"), Parameters(temperature=0.5))
    assert (author.row(), author.cutoff()) == (None, date(2023, 10, 31))
    row = LanguageModel.objects.create(label="o", spec=str(author.spec), parameters={"temperature": 0.5})
    LanguageModel.objects.create(label="o", version=2, spec=str(author.spec), cutoff=date(2023, 9, 1))
    assert (author.row(), author.cutoff()) == (row, date(2023, 9, 1))
    assert ProbedModel(parse_model_spec("openai:unheard-of"), Parameters()).cutoff() is None


def test_the_package_is_documented() -> None:
    text = (REPOSITORY / "docs" / "memorisation.md").read_text()
    for word in ("containment", "rouge_l", "substring", "translat", "short"):
        assert word in text
