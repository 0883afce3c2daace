"""The ledger of spending and its caps: sums, days, the page, the command, and tests of models."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.roles import Role
from benchmark.methods import MethodSettings
from benchmark.model_calls import caps, catalogue, ledger
from benchmark.model_calls.budget import Price, Spending
from benchmark.model_calls.caps import CapError
from benchmark.model_calls.ledger import Account
from benchmark.model_calls.model_tests import claim_tests, perform_test, request_test
from benchmark.models import DailySpend, Generation, LanguageModel, ModelTest, Run, SpendingCap, WorkItem
from benchmark.providers import Parameters, parse_model_spec
from benchmark.runner.reply_store import ModelRole, store
from config import doctor
from tests.fake_providers import FakeProviders, Script, failure
from tests.problems import store_doubling

PRICE = Price(1000, 2000)
PAID = Account("openai:m", PRICE)
ONE_DOLLAR = Spending(1, 1000, 0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[datetime], None]:
    """A function that sets the time of the ledger."""

    def set_time(moment: datetime) -> None:
        monkeypatch.setattr(ledger, "timezone", SimpleNamespace(now=lambda: moment))

    return set_time


def spending(*arguments: str) -> str:
    """Return what `manage.py spending` prints."""
    out = io.StringIO()
    call_command("spending", *arguments, stdout=out)
    return out.getvalue()


TOKENS = st.one_of(st.none(), st.integers(0, 200_000))
REPLIES = st.lists(
    st.lists(st.tuples(TOKENS, TOKENS, TOKENS, st.booleans()), min_size=1, max_size=4), max_size=4
)
PRICES = st.one_of(
    st.none(), st.builds(Price, st.floats(0, 100), st.floats(0, 100), st.none() | st.floats(0, 100))
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(groups=REPLIES, price=PRICES, study=st.sampled_from(["", "study:demo@1"]))
def test_the_ledger_equals_the_sum_of_the_stored_replies(
    db: None, groups: list[Any], price: Price | None, study: str
) -> None:
    with transaction.atomic():
        problem = store_doubling()
        run = Run.objects.create(
            dataset=problem.dataset, method="zero-shot", model_spec="openai:m", parameters={}, manifest={},
            study_key=study, price=price and vars(price),
        )  # fmt: skip
        item = WorkItem.objects.create(run=run, problem=problem, chain=0)
        paid: Generation | None = None
        step = 0
        for group in groups:
            entries = []
            for given_tokens, written, cached, reused in group:
                row = Generation(
                    work_item=item, step=step, purpose="solve", messages=[], parameters={}, text="", latency=0,
                    input_tokens=given_tokens, output_tokens=written, cached_input_tokens=cached,
                    reused=paid if reused else None,
                )  # fmt: skip
                entries.append((ModelRole.student(run, MethodSettings()), row))
                step += 1
            store(entries)
            paid = paid or Generation.objects.filter(reused=None).first()
        rows = list(Generation.objects.filter(reused=None))
        known = [
            row
            for row in rows
            if price and (price.is_free or None not in (row.input_tokens, row.output_tokens))
        ]
        stored = DailySpend.objects.all()
        assert len(stored) == bool(rows)
        if rows:
            [total] = stored
            assert (total.model_spec, total.study_key, total.calls) == ("openai:m", study, len(rows))
            assert total.input_tokens == sum(row.input_tokens or 0 for row in rows)
            assert total.output_tokens == sum(row.output_tokens or 0 for row in rows)
            assert total.cached_input_tokens == sum(row.cached_input_tokens or 0 for row in rows)
            assert total.microdollars == sum(
                round(
                    1e6
                    * price.of(row.input_tokens or 0, row.output_tokens or 0, row.cached_input_tokens or 0)
                )
                for row in known
                if price
            )
            assert total.calls_of_unknown_cost == len(rows) - len(known)
        transaction.set_rollback(True)


def test_a_reply_is_counted_in_one_statement(db: None, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        ledger.record(PAID, [ONE_DOLLAR, ONE_DOLLAR, Spending(calls_broken_off=1)])
    row = DailySpend.objects.get()
    assert (row.calls, row.dollars, row.calls_of_unknown_cost) == (2, 2, 1)
    with django_assert_num_queries(1):
        assert caps.refusal(PAID) == ""
    with django_assert_num_queries(0):
        ledger.record(PAID, [])
        assert caps.refusal(Account("practice:student", Price(0, 0))) == ""


def test_a_cap_of_a_day_is_free_again_on_the_next_day_in_utc(
    db: None, clock: Callable[[datetime], None]
) -> None:
    caps.set_cap("site", "", "day", 2)
    caps.set_cap("model", "openai:m", "total", 3)
    clock(datetime(2026, 5, 1, 23, 59, tzinfo=UTC))
    ledger.record(PAID, [ONE_DOLLAR])
    assert caps.refusal(PAID) == ""
    ledger.record(PAID, [ONE_DOLLAR])
    assert caps.refusal(PAID) == (
        "the spending cap of the site of 2.00 US dollars a day is reached (2.00 spent). Wait until the next day (UTC), "
        "or raise the cap on the page Spending, or with: manage.py spending set day DOLLARS"
    )
    assert caps.dollars_left(PAID) == 0
    clock(datetime(2026, 5, 2, 0, 1, tzinfo=UTC))
    assert (caps.refusal(PAID), caps.dollars_left(PAID)) == ("", 1)
    ledger.record(PAID, [ONE_DOLLAR])
    assert "model openai:m of 3.00 US dollars in all is reached" in caps.refusal(PAID)
    assert caps.refusal(Account("openai:other", PRICE)) == ""
    assert [row.day for row in DailySpend.objects.all()] == [date(2026, 5, 2), date(2026, 5, 1)]


def test_a_cap_cannot_hold_without_a_price(db: None) -> None:
    unknown = Account("openai:m", None, "study:demo@1")
    assert caps.refusal(unknown) == ""
    caps.set_cap("study", "demo@1", "total", 3)
    assert caps.refusal(unknown) == (
        "the price of openai:m is unknown, so the spending cap of study demo@1 cannot hold. Type a price on the "
        "model's page, or give --price INPUT OUTPUT, in US dollars for a million tokens"
    )
    assert caps.refusal(Account("openai:m", None)) == ""


def test_models_without_a_price_are_named_by_doctor_and_the_command(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for examination in ("_sandbox", "_languages"):  # they start other programs
        monkeypatch.setattr(doctor, examination, lambda **_: [])

    def prices() -> Any:
        return next(one for one in doctor.examine() if one.name == "prices of models")

    catalogue.add(LanguageModel(label="unused", spec="openai:unlisted-model"))
    catalogue.model_for(parse_model_spec("practice:student"), Parameters())
    catalogue.model_for(parse_model_spec("openai:gpt-4o"), Parameters())
    assert prices().ok
    catalogue.model_for(parse_model_spec("openai:unlisted"), Parameters())
    assert (prices().ok, prices().need, "unlisted v1 (openai:unlisted)" in prices().detail) == (
        False, "optional", True,
    )  # fmt: skip
    caps.set_cap("site", "", "day", 1)
    assert prices().need == "useful"
    assert "The price of unlisted v1 (openai:unlisted) is unknown" in spending("list")


def test_the_command_sets_lists_and_removes_caps(db: None) -> None:
    assert "There is no spending cap" in spending()
    catalogue.add(LanguageModel(label="four", spec="openai:gpt-4o"))
    spending("set", "total", "5", "--model", "four")
    spending("set", "day", "1.5")
    spending("set", "day", "2.5")
    spending("set", "total", "7", "--study", "study:demo@2")
    ledger.record(PAID, [ONE_DOLLAR, Spending(1, 5, 0, 0, 1)])
    document = json.loads(spending("list", "--json"))
    assert document["caps"] == [
        {"scope": "model", "key": "openai:gpt-4o", "period": "total", "dollars": 5, "spent": 0, "reached": False},
        {"scope": "site", "key": "", "period": "day", "dollars": 2.5, "spent": 1, "reached": False},
        {"scope": "study", "key": "study:demo@2", "period": "total", "dollars": 7, "spent": 0, "reached": False},
    ]  # fmt: skip
    [row] = document["today"]
    assert (row["model"], row["calls"], row["dollars"], row["calls_of_unknown_cost"]) == ("openai:m", 2, 1, 1)
    assert "the site             each day  2.50        1.00   40 %" in spending()
    assert spending("remove", "day") == "The cap of the site each day is removed.\n"
    with pytest.raises(CommandError, match="There is no such cap"):
        spending("remove", "day")
    for arguments in (("--model", "nobody"), ("--study", "demo"), ("--model", "nothing:m")):
        with pytest.raises(CommandError):
            spending("set", "day", "1", *arguments)
    with pytest.raises(CapError, match="from 0 to"):
        caps.set_cap("site", "", "day", float("nan"))


def test_an_admin_adds_changes_and_removes_a_cap_on_the_page(browser: Callable[[Role], Client]) -> None:
    admin, researcher = browser(Role.ADMIN), browser(Role.RESEARCHER)
    assert "There is no spending cap" in admin.get("/spending/").content.decode()
    wrong = {"scope": "model", "key": "", "period": "day", "dollars": "5"}
    answer = admin.post("/spending/add/", wrong)
    assert (answer.status_code, SpendingCap.objects.count()) == (422, 0)
    assert admin.post("/spending/add/", {**wrong, "scope": "site", "dollars": "-1"}).status_code == 422
    assert admin.post("/spending/add/", {**wrong, "scope": "site", "dollars": "nan"}).status_code == 422
    assert admin.post("/spending/add/", {**wrong, "key": "openai:m"}).status_code == 302
    again = admin.post("/spending/add/", {**wrong, "key": "openai:m"})
    assert "There is a cap of model openai:m each day already. Change that one." in again.content.decode()
    cap = SpendingCap.objects.get()
    ledger.record(PAID, [ONE_DOLLAR] * 5)
    page = admin.get("/spending/").content.decode()
    assert ('<span class="badge bad">reached</span>' in page, 'value="100"' in page) == (True, True)
    assert f'href="/spending/{cap.pk}/"' in page
    assert f"/spending/{cap.pk}/" not in researcher.get("/spending/").content.decode()
    changed = {"scope": "study", "key": "demo@1", "period": "total", "dollars": "0.25"}
    assert admin.post(f"/spending/{cap.pk}/", changed).status_code == 302
    cap.refresh_from_db()
    assert (cap.scope, cap.key, cap.period, cap.microdollars) == ("study", "study:demo@1", "total", 250_000)
    assert (
        "Remove the cap of study demo@1 in all?" in admin.get(f"/spending/{cap.pk}/remove/").content.decode()
    )
    assert researcher.post(f"/spending/{cap.pk}/remove/").status_code == 403
    assert admin.post(f"/spending/{cap.pk}/remove/").status_code == 302
    assert not SpendingCap.objects.exists()
    assert admin.get(f"/spending/{cap.pk}/remove/").status_code == 404


def test_the_page_groups_the_digits_of_large_numbers(browser: Callable[[Role], Client]) -> None:
    caps.set_cap("site", "", "day", 20_000)
    ledger.record(PAID, [Spending(12_345, 1_234_567, 89_012)])
    page = browser(Role.RESEARCHER).get("/spending/").content.decode()
    for number in ("20,000.00", "12,345", "1,234,567", "89,012"):
        assert f"</span>{number}</td>" in page


@pytest.mark.django_db(transaction=True)
async def test_a_test_of_a_model_is_counted_and_refused_under_a_cap(fake_providers: FakeProviders) -> None:
    fake_providers.script(Script(("42",)), failure(401), Script(("4",), ending="cut"))

    def requested() -> LanguageModel:
        row = catalogue.add(
            LanguageModel(label="m", spec="openai:m", price={"input": 1000.0, "output": 2000.0})
        )
        request_test(row, User.objects.create_user("ada"))
        return row

    row = await sync_to_async(requested)()
    for expected in ((1, 25_000, 0), (1, 25_000, 0), (1, 25_000, 1)):
        [test] = await sync_to_async(claim_tests)()
        await perform_test(test)
        total = await DailySpend.objects.aget()
        assert (total.calls, total.microdollars, total.calls_of_unknown_cost) == expected
        await sync_to_async(request_test)(row, await User.objects.aget())
    await sync_to_async(caps.set_cap)("site", "", "day", 0.025)
    [test] = await sync_to_async(claim_tests)()
    await perform_test(test)
    test = await ModelTest.objects.aget(pk=test.pk)
    assert (test.state, test.error.startswith("The spending cap of the site of 0.03 US dollars a day")) == (
        "failed", True,
    )  # fmt: skip
    assert len(fake_providers.requests) == 3


def test_the_command_that_tests_a_model_is_counted_and_refused_under_a_cap(
    fake_providers: FakeProviders, db: None
) -> None:
    catalogue.add(LanguageModel(label="m", spec="openai:m", price={"input": 1000.0, "output": 2000.0}))
    fake_providers.script(Script(("42",)))
    call_command("models", "test", "m", "--json", stdout=io.StringIO())
    assert DailySpend.objects.get().microdollars == 25_000
    caps.set_cap("model", "m", "total", 0.01)
    with pytest.raises(CommandError, match="The spending cap of model openai:m"):
        call_command("models", "test", "m")
    assert len(fake_providers.requests) == 1
