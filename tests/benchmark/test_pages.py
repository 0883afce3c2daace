"""The pages of the problem bank."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from benchmark.models import Dataset, Figure, Problem, ReferenceSolution, TestCase, blobs

ODD_IDS = ["what?", "50%", "a/b", "it's-é#1!", "two words", "x/figures/y", "a+b&c=d;e"]


@pytest.fixture
def reader(client: Client, db: None) -> Client:
    """Return a client logged in as a user with a role."""
    user = User.objects.create_user("reader")
    user.groups.add(Group.objects.get_or_create(name="reviewer")[0])
    client.force_login(user)
    return client


def add_problem(external_id: str, dataset: str = "usaco", **values: object) -> Problem:
    owner, _ = Dataset.objects.get_or_create(name=dataset, defaults={"format": "usaco"})
    return Problem.objects.create(
        **{
            "dataset": owner,
            "external_id": external_id,
            "title": f"Title of {external_id}",
            "tier": "bronze",
            "statement": "Cows stand in a row.",
            "statement_format": "usaco",
            "statement_html": "<p>Cows stand in a row.</p>",
            "time_limit": 2.0,
            "memory_limit": 256 * 2**20,
            "checker": {"kind": "tokens"},
            "content_hash": "0" * 64,
        }
        | values
    )


def add_test(problem: Problem, order: int, origin: str, content: bytes, answer: bytes = b"1\n") -> TestCase:
    return TestCase.objects.create(
        problem=problem,
        order=order,
        name=str(order),
        origin=origin,
        input_hash=blobs.put(content),
        answer_hash=blobs.put(answer),
    )


def listed(client: Client, query: str = "") -> list[str]:
    """Return the ids of the problems on a page of the list."""
    page = client.get(f"/problems/{query}").content.decode()
    return re.findall(r'<span class="identifier" title="[^/"]*/([^"]*)">', page)


def test_list_finds_words_in_title_id_and_statement_in_any_case(reader: Client) -> None:
    add_problem("1_bronze_hay", title="Haystack")
    add_problem("2_bronze_milk", title="Milk", statement="Pour the HAY away.")
    add_problem("3_bronze_fence", title="Fence")
    assert listed(reader, "?text=hay") == ["1_bronze_hay", "2_bronze_milk"]
    assert listed(reader, "?text=FENCE") == ["3_bronze_fence"]
    assert listed(reader, "?text=pour+milk") == ["2_bronze_milk"]
    assert listed(reader, "?text=hay%25") == []


def test_list_filters_by_tier_and_dataset_together(reader: Client) -> None:
    add_problem("a", tier="gold")
    add_problem("b", tier="gold", dataset="practice")
    add_problem("c", tier="silver", dataset="practice")
    assert listed(reader, "?tier=gold") == ["b", "a"]
    assert listed(reader, "?dataset=practice") == ["b", "c"]
    assert listed(reader, "?tier=gold&dataset=practice") == ["b"]


def test_list_says_when_nothing_matches_and_when_nothing_is_there(reader: Client) -> None:
    assert "The problem bank is empty" in reader.get("/problems/").content.decode()
    add_problem("a")
    assert "No problem matches" in reader.get("/problems/?tier=unheard").content.decode()


def test_list_of_many_problems_needs_few_queries_and_reads_no_statement(
    reader: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(120):
        add_problem(f"{number:03}")
    with django_assert_max_num_queries(10) as queries:
        first = listed(reader)
    assert first == [f"{number:03}" for number in range(50)]
    read = [query["sql"].split(" FROM ")[0] for query in queries.captured_queries]
    assert not any("statement" in columns or "analysis" in columns for columns in read)
    assert listed(reader, "?page=3") == [f"{number:03}" for number in range(100, 120)]
    assert listed(reader, "?page=nonsense") == first


def test_page_links_keep_the_filters(reader: Client) -> None:
    for number in range(60):
        add_problem(f"{number:03}", title="Salt & pepper")
    page = reader.get("/problems/?text=salt+%26+pepper").content.decode()
    assert 'href="?text=salt+%26+pepper&amp;page=2"' in page


@pytest.mark.parametrize("external_id", ODD_IDS)
def test_problem_with_an_odd_id_has_a_page_and_figures(reader: Client, external_id: str) -> None:
    problem = add_problem(external_id, title="Odd <one>")
    Figure.objects.create(
        problem=problem, name="it's 1.png", media_type="image/png", content_hash=blobs.put(b"PNG")
    )
    page = reader.get(problem.get_absolute_url())
    assert page.status_code == 200
    assert "Odd &lt;one&gt;" in page.content.decode()
    figure = reader.get(reverse("figure", args=["usaco", external_id, "it's 1.png"]))
    assert (figure.status_code, figure.content) == (200, b"PNG")


def test_problem_page_shows_samples_solutions_and_analysis_but_no_hidden_test(reader: Client) -> None:
    problem = add_problem("p", analysis_html="<p>Sort the cows.</p>")
    add_test(problem, 0, "sample", b"11 <22>\n", b"33\n")
    add_test(problem, 1, "hidden", b"987654\n", b"456789\n")
    ReferenceSolution.objects.create(
        problem=problem, language="python", source="print('<reference>')", name="sort.py"
    )
    page = reader.get(problem.get_absolute_url()).content.decode()
    for expected in ("11 &lt;22&gt;", "33", "Sort the cows.", "sort.py", "&lt;reference&gt;"):
        assert expected in page
    assert "987654" not in page
    assert "456789" not in page


def test_long_sample_is_cut_and_says_so(reader: Client) -> None:
    problem = add_problem("p")
    add_test(problem, 0, "sample", b"begin " + b"7" * 300_000 + b" end")
    page = reader.get(problem.get_absolute_url()).content.decode()
    assert "begin 777" in page
    assert " end" not in page.split("begin ")[1].split("</pre>")[0]
    assert "Only the beginning of 293.0" in page


def test_sample_whose_bytes_are_gone_says_what_to_do(reader: Client) -> None:
    problem = add_problem("p")
    test = add_test(problem, 0, "sample", b"bytes that will be gone")
    blobs.path(test.input_hash).unlink()
    page = reader.get(problem.get_absolute_url())
    assert page.status_code == 200
    assert "Import the dataset again" in page.content.decode()


def test_figure_is_a_picture_that_browsers_keep_and_never_run(reader: Client) -> None:
    problem = add_problem("p")
    digest = blobs.put(b"GIF89a")
    Figure.objects.create(problem=problem, name="a.gif", media_type="image/gif", content_hash=digest)
    Figure.objects.create(problem=problem, name="b.svg", media_type="image/svg+xml", content_hash=digest)
    address = reverse("figure", args=["usaco", "p", "a.gif"])
    answer = reader.get(address)
    assert answer["Content-Type"] == "image/gif"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "private" in answer["Cache-Control"]
    again = reader.get(address, headers={"If-None-Match": answer["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert reader.get(reverse("figure", args=["usaco", "p", "b.svg"])).status_code == 404
    assert reader.get(reverse("figure", args=["usaco", "p", "c.gif"])).status_code == 404


def test_account_without_a_role_reads_nothing(client: Client, db: None) -> None:
    problem = add_problem("p", statement_html="<p>SECRET</p>")
    Figure.objects.create(
        problem=problem, name="a.gif", media_type="image/gif", content_hash=blobs.put(b"GIF")
    )
    client.force_login(User.objects.create_user("nobody-yet"))
    for address in (
        "/problems/",
        problem.get_absolute_url(),
        reverse("figure", args=["usaco", "p", "a.gif"]),
    ):
        answer = client.get(address)
        assert answer.status_code == 403
        assert b"SECRET" not in answer.content
        assert b"no role yet" in answer.content
    client.logout()
    assert client.get("/problems/").headers["Location"].startswith("/login/")


def test_bank_only_reads(reader: Client) -> None:
    problem = add_problem("p")
    assert reader.post("/problems/").status_code == 405
    assert reader.post(problem.get_absolute_url()).status_code == 405
