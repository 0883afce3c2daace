"""The pages of runs: permissions, links from numbers to their rows, and hidden data."""

import csv
import io
import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from html import unescape
from typing import Any
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from benchmark.model_calls.caps import set_cap
from benchmark.models import Generation, Run, Runner, WorkItem
from benchmark.reports.cached_report import store_report
from tests.benchmark.reports.conftest import MakeRun, make_run  # noqa: F401  a fixture

FINISHED = {"state": "finished", "finished_at": datetime(2026, 1, 2, tzinfo=UTC)}
Visit = Callable[[str], str]


@pytest.fixture
def visit(researcher: Client) -> Visit:
    def get(address: str) -> str:
        answer = researcher.get(address)
        assert answer.status_code == 200, (address, answer.status_code)
        return answer.content.decode()

    return get


@pytest.fixture
def run(make_run: MakeRun) -> Run:  # noqa: F811
    return make_run(
        [("bronze", ["AC", "WA"]), ("gold", ["WA", "NO_CODE"]), ("", ["fault", "TLE"])],
        model="openai:gpt-4-1106-preview",
        contests=[("March", date(2022, 3, 1)), ("December", date(2023, 12, 1)), ("", None)],
        tags=[["dp"], ["dp", "a & b"], []],
        **FINISHED,
    )


def addresses(run: Run) -> list[str]:
    item = run.items.exclude(selected=None).order_by("pk").first()
    assert item
    return [
        "/runs/", f"/runs/{run.pk}/", f"/runs/{run.pk}/progress/", f"/runs/{run.pk}/items/",
        f"/runs/{run.pk}/report.json", f"/runs/chains/{item.pk}/", f"/runs/matrix/?run={run.pk}", "/runs/compare/",
        "/runs/ablations/", "/runs/published/",
    ]  # fmt: skip


@pytest.mark.parametrize("role", [None, "tutor", "reviewer", "adjudicator"])
def test_only_researchers_and_admins_see_runs(client: Client, run: Run, role: str | None) -> None:
    user = User.objects.create_user("other")
    if role:
        user.groups.add(Group.objects.get_or_create(name=role)[0])
    client.force_login(user)
    assert [client.get(address).status_code for address in addresses(run)] == [403] * 10
    client.logout()
    assert client.get("/runs/").headers["Location"].startswith("/login/")


def test_links_of_the_polled_progress_keep_the_focus(visit: Visit, run: Run) -> None:
    links = re.findall(r"<a\b[^>]*>", visit(f"/runs/{run.pk}/progress/"))
    names = re.findall(r' id="([^"]+)"', "".join(links))
    assert len(links) == len(set(names)) == 4, "htmx keeps the focus on an element with an id"


@pytest.mark.slow
@pytest.mark.parametrize("role", ["researcher", "admin", "superuser"])
def test_researchers_and_admins_see_all_and_change_nothing(client: Client, run: Run, role: str) -> None:
    user = User.objects.create_user("one", is_superuser=role == "superuser")
    if role != "superuser":
        user.groups.add(Group.objects.get_or_create(name=role)[0])
    client.force_login(user)
    assert [client.get(address).status_code for address in addresses(run)] == [200] * 10
    assert client.post(f"/runs/{run.pk}/").status_code == 405


def test_nothing_that_quotes_a_hidden_test_is_on_any_page(visit: Visit, run: Run) -> None:
    pages = {address: visit(address) for address in addresses(run)}
    for address, page in pages.items():
        assert "canary-hidden" not in page, address
    [chain] = [page for address, page in pages.items() if "chains" in address]
    assert "canary-sample-message" in chain
    assert "hidden-1" in chain


@pytest.mark.slow
def test_every_number_of_a_run_leads_to_as_many_rows(visit: Visit, run: Run) -> None:
    page = visit(f"/runs/{run.pk}/")
    links = re.findall(rf'href="(/runs/{run.pk}/items/[^"]*)"[^>]*>(\d+)</a>', page)
    assert len(links) > 20
    for address, number in links:
        found = visit(unescape(address))
        [said] = re.findall(r'<p class="soft">(\d+)', found)
        assert said == number, address
        assert found.count('class="row-link"') == int(number)
    for name in ("a+%26+b", "before", "2023", "no+tier"):
        assert f"name={name}" in page
    fault = visit(f"/runs/{run.pk}/items/?state=failed")
    assert "&lt;down&gt; &amp; out" in fault


def test_the_page_of_a_run_says_what_it_depends_on_and_how_to_repeat_it(visit: Visit, run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(manifest=run.manifest | {"draws": "repeat"})
    page = visit(f"/runs/{run.pk}/")
    assert "<dt>Draw number</dt><dd>0</dd>" in page
    assert f"manage.py run_baseline --like {run.pk}" in page
    assert "m-2026" in page
    assert "The model may have read 1 of 3 problems" in page
    assert "8.70" in page.replace("8.7,", "8.70,")  # the published table T2
    assert "hx-get" not in page
    for form in ("csv", "json", "html"):
        assert str(run.pk) in visit(f"/runs/{run.pk}/report.{form}")
    assert json.loads(visit(f"/runs/{run.pk}/report.json"))["runs"][0]["solved"] == 1


def test_an_open_run_is_polled_until_it_ends(
    visit: Visit,
    researcher: Client,
    make_run: MakeRun,  # noqa: F811
) -> None:
    run = make_run([("bronze", [verdict]) for verdict in ("AC", "fault", "fault", "", "")])
    page = visit(f"/runs/{run.pk}/")
    [polled] = re.findall(r'hx-get="([^"]*)"', page)
    assert "unknown so far" in page
    assert "1</a> of" in page
    assert "Cost so far</dt><dd>unknown" in page  # without a price
    [waiting, _] = run.items.filter(state="pending")
    waiting.selected = Generation.objects.create(
        work_item=waiting, step=0, purpose="solve", messages=[], parameters={}, latency=1
    )
    waiting.state = "done"
    waiting.save()
    judged = WorkItem.objects.filter(run=run, fault__gt="").first()
    assert judged
    judged.fault = "judge fault: no sandbox"
    judged.save()
    run.price, run.budget, run.paid_output_tokens = (
        {"input": 1, "output": 2},
        {"cost": 4, "calls": 9},
        500_000,
    )
    run.save()
    set_cap("site", "", "day", 25)
    part = visit(unescape(polled))
    assert "<html" not in part
    assert "about " in part
    assert "1.00 US dollars of at most 4.00 US dollars" in part
    assert "Paid calls</dt><dd>0 of at most 9" in part
    assert "The site: 0.00 of" in part
    failures = re.findall(r'<li><a id="[^"]+" href="([^"]*)">(\d+)</a> ([^<]*)</li>', part)
    assert {(number, words) for _, number, words in failures} == {("1", "server error"), ("1", "judge fault")}
    for address, number, _ in failures:
        assert f'<p class="soft">{number}' in visit(unescape(address))
    assert researcher.get(f"/runs/{run.pk}/items/?kind=x").status_code == 400
    assert researcher.get(f"/runs/{run.pk}/items/?by=year&name=0000").status_code == 400
    run.state = "stopped"
    run.save()
    ended = researcher.get(unescape(polled))
    assert ended.headers["HX-Refresh"] == "true"
    assert b"hx-get" not in ended.content


def test_the_leaderboard_orders_by_score_filters_and_leads_on(
    visit: Visit,
    make_run: MakeRun,  # noqa: F811
) -> None:
    assert "There is no run yet" in visit("/runs/")
    good = make_run([("bronze", ["AC"])], method="episodic", **FINISHED)
    bad = make_run([("bronze", ["WA"])], method="semantic", on=good, **FINISHED)
    going = make_run([("bronze", [""])], method="reflexion", on=good)
    for run in (good, bad):
        store_report(run)
    page = visit(f"/runs/?dataset={good.dataset.name}")
    finished = page.split("finished-heading")[-1]
    assert finished.index(f"/runs/{good.pk}/") < finished.index(f"/runs/{bad.pk}/")
    assert str(going.pk) not in finished
    assert "0 of 1" in page
    assert "No run matches these filters." in visit("/runs/?dataset=elsewhere")


def test_a_chain_shows_how_the_program_changed(visit: Visit, run: Run) -> None:
    item = run.items.filter(state="done", judgement__verdict="WA").order_by("pk").first()
    assert item
    first = item.generations.get()
    Generation.objects.create(
        work_item=item, step=1, purpose="reflect", messages=[], text="**Better** <b>now</b>", code="print(2)",
        parameters={}, latency=1,
        retrieval={"episodic": {"hits": [{"id": "1", "score": 2.5}]}},
    )  # fmt: skip
    page = visit(f"/runs/chains/{item.pk}/")
    assert '<td class="mark">−</td><td class="text">print(1)</td>' in page
    assert '<td class="mark">+</td><td class="text">print(2)</td>' in page
    assert "<strong>Better</strong>" in page
    assert "<b>now" not in page
    assert "the question" in page
    assert "score 2.50" in page
    assert page.index("scored attempt") < page.index("Answer after reflection")
    assert first.pk == item.selected_id
    empty = run.items.filter(state="failed").first()
    assert empty
    assert "No reply yet" in visit(f"/runs/chains/{empty.pk}/")


def test_the_matrix_shows_who_solved_what_and_where_runs_differ(
    visit: Visit,
    researcher: Client,
    make_run: MakeRun,  # noqa: F811
) -> None:
    assert "No run is selected" in visit("/runs/matrix/")
    first = make_run([("bronze", ["AC"]), ("bronze", ["WA"]), ("bronze", ["WA"])], **FINISHED)
    second = make_run([("bronze", ["AC"]), ("bronze", ["AC"])], on=first, **FINISHED)
    both = f"run={first.pk}&run={second.pk}"
    cells = re.findall(r">(AC|WA|not tried)</(?:a|span)>", visit(f"/runs/matrix/?{both}"))
    assert cells == ["AC", "AC", "WA", "AC", "WA", "not tried"]
    assert re.findall(r">(AC|WA)<", visit(f"/runs/matrix/?{both}&differing=1")) == ["WA", "AC"]
    assert re.findall(r">(AC|WA)<", visit(f"/runs/matrix/?{both}&first=WA&second=AC")) == ["WA", "AC"]
    assert re.findall(r">(AC|WA)<", visit(f"/runs/matrix/?{both}&both=1")) == ["AC", "AC", "WA", "AC"]
    thrice = make_run([("bronze", ["WA", "WA"]), ("bronze", ["AC", "WA"])], on=first, **FINISHED)
    page = visit(f"/runs/compare/?run={thrice.pk}&run={second.pk}")
    found = {
        unescape(address): int(number)
        for address, number in re.findall(r'href="(/runs/matrix/[^"]*)"[^>]*>(\d+)</a>', page)
    }
    assert [number for address, number in found.items() if "only=" in address] == [0, 1]
    for address, number in found.items():
        assert f"{number} of 2 problems" in visit(address), address
    refused = researcher.get("/runs/matrix/?run=nonsense")
    assert refused.status_code == 400
    assert "The id of a run in the address is not a valid id." in refused.content.decode()
    assert researcher.get("/runs/matrix/?run=00000000-0000-0000-0000-000000000000").status_code == 404


def test_runs_are_compared_on_a_page_and_as_files(
    visit: Visit,
    make_run: MakeRun,  # noqa: F811
) -> None:
    assert "A comparison needs two runs" in visit("/runs/compare/")
    first = make_run([("bronze", ["AC"]), ("bronze", ["WA"])], **FINISHED)
    second = make_run([("bronze", ["AC"]), ("bronze", ["AC"])], on=first, method="episodic", **FINISHED)
    assert "Runs to compare" in visit(f"/runs/compare/?run={first.pk}")
    both = f"/runs/compare/?run={first.pk}&run={second.pk}"
    page = visit(both)
    for said in ("+50.00", "not significant", "with a power of 80 %", "1 × different reply at step 1"):
        assert said in page
    assert f'href="/runs/{second.pk}/items/?problem=1"' in page
    assert "Share of best score" not in page
    settings = {"temperature": 0.7, "p": 4, "corpus_content": "statement", "i": 3, "policy": "compat"}
    third = make_run(
        [("bronze", ["WA"]), ("bronze", ["AC"])],
        on=first,
        method="episodic",
        parameters=settings,
        **FINISHED | {"manifest": {"profile": {"name": "usaco-paper", "version": 2}}},
    )
    page = visit(f"{both}&run={third.pk}")
    best = re.findall(r"narrow-label\">Share of (?:best score|largest gain): </span>(\S+) %", page)
    assert best == ["100.00", "100.00", "50.00", "0.00"]
    own = "profile usaco-paper, p=4, corpus_content=statement"
    assert f"episodic, openai:m, {first.dataset.name}, {own}</a>" in page
    for address in ("/runs/", f"/runs/matrix/?run={third.pk}"):
        assert own in visit(address)
    assert json.loads(visit(f"{both}&form=json"))["pairs"][0]["only_this"] == ["1"]
    assert visit(f"{both}&form=csv").splitlines()[1].startswith(f"{first.pk},{second.pk},2,0.5,1.0,0.5")


def test_plots_are_files_with_the_permissions_of_their_page(
    visit: Visit,
    researcher: Client,
    make_run: MakeRun,  # noqa: F811
) -> None:
    first = make_run([("bronze", ["AC"]), ("bronze", ["WA"])], **FINISHED)
    runs = [first, *(make_run([("bronze", ["AC"])] * 2, on=first, method=name, **FINISHED) for name in "ab")]
    query = "&".join(f"run={run.pk}" for run in runs)
    addresses = {
        "compare": ("differences", "shares-of-best"),
        "matrix": ("problems-by-run",),
    }
    found = {}
    for page, names in addresses.items():
        links = [
            unescape(one)
            for one in re.findall(r'href="(\?[^"]*plot=[^"]*)"', visit(f"/runs/{page}/?{query}"))
        ]
        assert links == [f"?{query}&plot={name}&as={form}" for name in names for form in ("svg", "csv")]
        for link in links:
            answer = researcher.get(f"/runs/{page}/{link}")
            assert answer.headers["Content-Disposition"].startswith("attachment;")
            found[link.rpartition("plot=")[2]] = answer.content.decode()
    differences = list(csv.reader(io.StringIO(found["differences&as=csv"])))
    assert differences[0][1:] == [
        "this run minus the base run, percentage points",
        "low",
        "high",
        "problems",
        "method",
    ]
    assert [row[1] for row in differences[1:]] == ["50.0", "50.0"]
    assert all(float(row[2]) < 50 < float(row[3]) and row[4:] == ["2", "Newcombe"] for row in differences[1:])
    assert len(found["problems-by-run&as=csv"].splitlines()) == 1 + 3 * 2
    for name, text in found.items():
        if name.endswith("svg"):
            assert ElementTree.fromstring(text).findtext("{http://www.w3.org/2000/svg}title")
    for wrong in ("plot=other&as=svg", "plot=differences&as=png"):
        assert researcher.get(f"/runs/compare/?{query}&{wrong}").status_code == 404
    researcher.force_login(User.objects.create_user("tutor"))
    assert researcher.get(f"/runs/compare/?{query}&plot=differences&as=csv").status_code == 403


def test_cells_of_the_heat_map_have_texts_and_titles(
    visit: Visit,
    make_run: MakeRun,  # noqa: F811
) -> None:
    first = make_run(
        [("bronze", ["AC", "WA"]), ("bronze", ["WA", "WA"]), ("bronze", ["AC", "AC"])], **FINISHED
    )
    second = make_run([("bronze", ["AC", "AC"])], on=first, **FINISHED)
    page = visit(f"/runs/matrix/?run={first.pk}&run={second.pk}")
    cells = re.findall(r'class="cell heat-(\w+)"[^>]*>([^<]+)<', page)
    assert cells == [
        ("most", "1 of 2"), ("all", "2 of 2"), ("none", "0 of 2"), ("untried", "not tried"), ("all", "2 of 2"),
        ("untried", "not tried"),
    ]  # fmt: skip
    assert 'title="Problem 0, zero-shot, openai:m: 1 of 2"' in page
    assert "under half" in page, "the legend"


def test_published_tables_have_a_list_of_contents(visit: Visit) -> None:
    page = visit("/runs/published/")
    targets = re.findall(r'<li><a href="#([^"]+)"', page.split("</nav>")[-2])
    assert len(targets) > 20
    assert all(f'id="{target}"' in page for target in targets)


def test_refine_curves_have_sparklines(
    visit: Visit,
    make_run: MakeRun,  # noqa: F811
) -> None:
    refined = make_run([("bronze", ["AC"])], method="refine", parameters={"k": 3, "g": 1}, **FINISHED)
    other = make_run([("bronze", ["WA"])], on=refined, **FINISHED)
    store_report(refined)
    for address in ("/runs/", f"/runs/{refined.pk}/", f"/runs/compare/?run={other.pk}&run={refined.pk}"):
        assert '<svg class="sparkline"' in visit(address), address


def test_curves_join_runs_that_differ_in_one_setting(
    visit: Visit,
    make_run: MakeRun,  # noqa: F811
) -> None:
    assert "There is no curve" in visit("/runs/ablations/")
    solved = [("bronze", ["AC"]), ("bronze", ["WA"])]
    runs = [make_run(solved, method="episodic", parameters={"p": 1, "k1": 1.5}, **FINISHED)]
    for p, k1 in ((2, 1.5), (3, 1.2)):
        runs.append(
            make_run(solved, method="episodic", parameters={"p": p, "k1": k1}, on=runs[0], **FINISHED)
        )
    page = visit(f"/runs/ablations/?dataset={runs[0].dataset.name}")
    assert page.count('<svg class="chart"') == 1
    assert "p = 1: <a" in page
    assert "p = 2: <a" in page
    assert str(runs[2].pk) not in page
    assert "p = 4: 12.38" in page  # the published table
    reflecting = {"i": 2, "selection": "first-passing", "run_all": False}
    run = make_run(solved, method="reflexion", parameters=reflecting, on=runs[0], **FINISHED)
    page = visit(f"/runs/ablations/?dataset={runs[0].dataset.name}")
    assert "reflexion, openai:m, within one run" in page
    assert f'i = 2: <a href="/runs/{run.pk}/">50.00</a>' in page
    assert "Results with fewer reflections" in visit(f"/runs/{run.pk}/")
    item = run.items.select_related("judgement").order_by("pk")[0]
    Generation.objects.filter(work_item=item).update(hidden_judgement=item.judgement)
    assert "not shown to the model" in visit(f"/runs/chains/{item.pk}/")
    assert "style=" not in page.split("<main")[1]


def test_published_tables_show_their_marks(visit: Visit) -> None:
    page = visit("/runs/published/")
    assert "28 of the 49 first problems" in page
    assert 'id="T4"' in page
    assert "With the accepted ones (T1) the row adds up to 102.6." in page
    assert ">nan<" not in page
    assert re.search(r'<span class="narrow-label">pass@1: </span>\d', page), (
        "a narrow page hides the headings"
    )


@pytest.mark.slow
def test_pages_need_as_many_queries_for_many_rows_as_for_few(
    visit: Visit,
    researcher: Client,
    make_run: MakeRun,  # noqa: F811
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    def make(problems: int) -> list[Run]:
        first = make_run([("bronze", ["AC", "WA"])] * problems, **FINISHED)
        return [first, make_run([("bronze", ["WA", "WA"])] * problems, on=first, **FINISHED)]

    def count(runs: list[Run]) -> dict[str, Any]:
        first, second = (run.pk for run in runs)
        item = runs[0].items.order_by("pk").first()
        assert item
        counted = {}
        for run in runs:
            store_report(run)
        for name, address in {
            "leaderboard": "/runs/",
            "run": f"/runs/{first}/",
            "items": f"/runs/{first}/items/",
            "chain": f"/runs/chains/{item.pk}/",
            "matrix": f"/runs/matrix/?run={first}&run={second}",
            "compare": f"/runs/compare/?run={first}&run={second}",
            "ablations": "/runs/ablations/",
        }.items():
            visit(address)  # comparisons are cached in the process
            with django_assert_max_num_queries(14) as queries:
                visit(address)
            counted[name] = len(queries)
        return counted

    assert count(make(2)) == count(make(30))


def test_epochs_replays_and_possibly_billed_calls_are_on_the_page(make_run: MakeRun, visit: Visit) -> None:  # noqa: F811
    original = make_run([("bronze", ["AC", "WA"]), ("gold", ["AC", "AC"])], **FINISHED)
    price = {"input": 10, "output": 30}
    replay = make_run(
        [("bronze", ["AC", "WA"]), ("gold", ["AC", "AC"])],
        on=original, epochs=2, first_draw=3, price=price, paid_calls=1, paid_input_tokens=1000,
        calls_broken_off=2, **FINISHED,
    )  # fmt: skip
    paid = Generation.objects.filter(work_item__run=original).order_by("pk")
    for row, source in zip(
        Generation.objects.filter(work_item__run=replay).order_by("pk"), paid, strict=True
    ):
        row.reused = source
        row.save()
    Run.objects.filter(pk=replay.pk).update(manifest=replay.manifest | {"draws": "repeat"})
    page = unescape(visit(f"/runs/{replay.pk}/"))
    assert "Replay: all 4 replies repeat stored ones." in page
    assert 'Standard error between epochs</th><td class="number">25.00 %' in page, (
        "100 % and 50 %: s = 35.36 %"
    )
    assert "Draw numbers</dt><dd>3, 4<" in page
    assert "at least 0.01 US dollars" in page
    assert "2 calls without a complete reply, possibly billed" in page
    assert "10 and 30 US dollars for a million tokens (given)" in page
    page = visit(f"/runs/{original.pk}/")
    assert "Retry</dt>" not in page
    waiting = "Waiting 60 seconds before calls are repeated: OpenAI: HTTP 429"
    Runner.objects.create(
        owner="one", run=original, waiting=waiting, lease_until=datetime(2026, 1, 2, tzinfo=UTC)
    )
    assert waiting in visit(f"/runs/{original.pk}/progress/")
    assert "Replay" not in page
    assert "between epochs" not in page
