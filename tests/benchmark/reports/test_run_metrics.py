"""Metrics of a run: a metric that is registered is in every report without another change."""

import json

import pytest
from django.core.management import call_command

from benchmark.models import CachedRunReport
from benchmark.reports.cached_report import run_report, runs_without_report, store_report
from benchmark.reports.groups import ScoreRules
from benchmark.reports.run_metrics import RUN_METRICS, Outcomes, run_metric
from tests.benchmark.reports.conftest import MakeRun
from tests.benchmark.reports.test_cached_report import FINISHED
from tests.benchmark.test_run_pages import Visit, visit  # noqa: F401  a fixture


def test_a_registered_metric_is_in_every_report_and_on_the_page(
    make_run: MakeRun,
    visit: Visit,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = make_run([("bronze", ["AC", "WA"]), ("gold", ["WA", "WA"])], **FINISHED)
    store_report(run)
    registered = dict(RUN_METRICS)
    try:

        @run_metric("ended_chains", "ended chains", "{:.1f} chains".format)
        def ended_chains(outcomes: Outcomes, rules: ScoreRules) -> float:
            return sum(map(len, outcomes.values()))

        assert list(runs_without_report()) == [run], "stored figures without the metric are stale"
        assert run_report(run).metrics == {"ended_chains": 4}
        store_report(run)
        assert CachedRunReport.objects.get(run=run).figures["metrics"] == {"ended_chains": 4}
        assert run_report(run).metrics == {"ended_chains": 4}
        printed = {}
        for form in ("text", "json", "csv", "html"):
            call_command("report", str(run.pk), "--format", form)
            printed[form] = capsys.readouterr().out
        assert json.loads(printed["json"])["runs"][0]["metrics"] == {"ended_chains": 4}
        assert ",ended_chains,all,all,4," in printed["csv"]
        for page in (printed["text"], printed["html"], visit(f"/runs/{run.pk}/")):
            assert "4.0 chains" in page
        with pytest.raises(ValueError, match="registered twice"):
            run_metric("ended_chains", "again")(ended_chains)
    finally:
        RUN_METRICS.clear()
        RUN_METRICS.update(registered)


def test_attempts_per_solved_chain_are_those_of_refine_runs(make_run: MakeRun) -> None:
    assert run_report(make_run([("bronze", ["AC"])], **FINISHED)).metrics == {}
