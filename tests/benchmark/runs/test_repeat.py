"""manage.py run_baseline --like: a new run with the same prompts, or none."""

from tests.benchmark.runs.bank import REPLY
from tests.benchmark.runs.conftest import CommandSandbox
from tests.fake_providers.scripts import Script, pieces_of


def test_a_run_is_repeated_exactly_and_refused_once_a_problem_changed(commands: CommandSandbox) -> None:
    commands.fake_providers.script(*[Script(pieces_of(REPLY))] * 8)
    first = commands.baseline(
        "--problems", "apple_sum,date_product", "--attempts", "2", "--set", "temperature=0.1"
    )
    output, errors = commands.manage("run_baseline", "--like", first["run"])
    assert "4 of 4 items done" in output, errors
    rows = commands.rows(
        "SELECT r.id, r.method, r.model_spec, r.parameters, r.attempts, i.problem_id, i.chain, g.prompt_hash"
        " FROM benchmark_run r JOIN benchmark_workitem i ON i.run_id = r.id"
        " JOIN benchmark_generation g ON g.work_item_id = i.id"
    )
    by_run: dict[str, set[tuple[object, ...]]] = {}
    for run, *rest in rows:
        by_run.setdefault(run, set()).add(tuple(rest))
    one, other = by_run.values()
    assert one == other
    assert len(one) == 4
    _, errors = commands.manage("run_baseline", "--like", first["run"], "--tier", "gold", status=1)
    assert "leave out --tier with --like" in errors
    commands.rows("UPDATE benchmark_problem SET content_hash = 'other'")
    _, errors = commands.manage("run_baseline", "--like", first["run"], status=1)
    assert "The problems of orchard changed since run" in errors
