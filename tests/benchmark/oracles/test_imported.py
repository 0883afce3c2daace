"""Verifiers of imported programs: building, verification of candidates, pages, use instead of hidden tests."""

import json
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.test import Client

from benchmark import judging
from benchmark.models import Candidate, Problem, Suite, Verification, Verifier
from benchmark.oracles import verifications
from benchmark.oracles.running import NO_TIME_LEFT, ProgramResult
from judge import Checker, OutputValidator

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("sandbox"),
]


def manage(*arguments: str) -> dict[str, Any]:
    output = StringIO()
    call_command(*arguments, "--json", stdout=output)
    document: dict[str, Any] = json.loads(output.getvalue())
    return document


def two_problems(source: Path, folder: Path) -> Path:
    """Return the files of two problems: 2609 has a wrong candidate, 2645 no input functions."""
    (folder / "leetcode_data").mkdir()
    metadata = json.loads((source / "leetcode_data" / "metadata.json").read_text())
    metadata["problems"] = [one for one in metadata["problems"] if one["problem"] in (2609, 2645)]
    (folder / "leetcode_data" / "metadata.json").write_text(json.dumps(metadata))
    (folder / "leetcode_results").mkdir()
    for name in ("2609", "2645"):
        shutil.copy(source / "leetcode_data" / f"{name}.md", folder / "leetcode_data")
        shutil.copy(source / "leetcode_results" / f"{name}_response.json", folder / "leetcode_results")
    return folder


def test_imported_programs_become_a_verifier_that_finds_the_smallest_failing_input(
    shared_data: Path, tmp_path: Path, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    manage("import_problems", "algo", str(two_problems(shared_data / "algo", tmp_path)), "--dataset", "algo")
    with pytest.raises(CommandError, match="has no verifier"):
        call_command("verify_candidates", "--dataset", "algo", stdout=StringIO())
    for command in (("verify_candidates",), ("build_verifier", "--imported")):
        with pytest.raises(CommandError, match=r"has no problem '2690'\. Did you mean 2609"):
            call_command(*command, "--dataset", "algo", "--problems", "2690", stdout=StringIO())
    built = manage("build_verifier", "--dataset", "algo", "--imported")["verifiers"]
    assert [(one["problem"], one["state"]) for one in built] == [("2609", "ready"), ("2645", "no-inputs")]
    assert built[0]["tests"] >= 10
    assert manage("build_verifier", "--dataset", "algo", "--imported")["verifiers"] == built
    assert Verifier.objects.count() == 4
    with pytest.raises(CommandError, match=r"built with other settings \(oracle_seconds=1 budget=1.35\)"):
        manage("build_verifier", "--dataset", "algo", "--imported", "--profile", "algo")
    with pytest.raises(CommandError, match="budget=some: not a number"):
        manage("build_verifier", "--dataset", "algo", "--imported", "--set", "budget=some")

    found = manage("verify_candidates", "--dataset", "algo", "--coverage")
    wrong, hopeless = found["candidates"]
    assert (wrong["official"], wrong["samples_passed"], wrong["accepted"]) == (False, False, False)
    assert wrong["minimal"]["input"] == '"10"\n'
    assert wrong["minimal"]["expected"] == "0"
    assert found["agreement"]["all"] == {"agreeing": 2, "total": 2}
    assert found["coverage"]["all"] >= found["coverage"]["samples"] > 0
    assert found["n_at_k"]["1"] == {"verifier": 0.0, "majority": 0.0, "random": 0.0}
    assert found["n_at_k"]["3"] == {"verifier": None, "majority": None, "random": None}
    assert hopeless["minimal"] is None
    right, looping = found["oracles"]
    assert right["correctness"] == {
        "verdict": "unknown",
        "samples": {"right": 3, "wrong": 0, "unanswered": 0},
        "hidden": None,
        "reference": None,
    }
    assert looping["correctness"]["samples"]["right"] < 2

    verifier = Verifier.objects.get(state="ready")
    candidate = Candidate.objects.get(problem=verifier.problem)
    Verification.objects.update(minimal=None)
    with monkeypatch.context() as patched:
        untried = ProgramResult(None, NO_TIME_LEFT)
        patched.setattr(verifications, "run_on", lambda program, inputs, budget: [untried] * len(inputs))
        hurried = verifications.verification_of(verifier, candidate.submission, minimized=True)
    assert hurried.minimal is not None
    assert hurried.minimal["fault"] == "WA", "an input that no time was left for has not failed"
    judgement = judging.request_judgement(
        candidate.submission, test_suite=verifier.suite, stop_at_first_failure=False
    )
    judging.perform(judgement.pk)
    judgement.refresh_from_db()
    assert (judgement.verdict, judgement.passed, judgement.total) == ("WA", wrong["passed"], wrong["total"])
    file = tmp_path / "candidate.py"
    file.write_text(candidate.submission.source)
    said = manage("judge", str(file), "--problem", "algo/2609", "--suite", "1", "--all-tests")
    assert (said["verdict"], said["passed"]) == ("WA", wrong["passed"])

    user = User.objects.create_user("rita")
    client.force_login(user)
    assert client.get(f"/runs/verifiers/{verifier.pk}/").status_code == 403
    user.groups.add(Group.objects.get_or_create(name="researcher")[0])
    page = client.get(f"/runs/verifiers/{verifier.pk}/").content.decode()
    assert "code_baseline" in page
    assert "<pre>&quot;10&quot;\n</pre>" in page
    assert f"{wrong['passed']} of {wrong['total']}" in page
    assert 'href="/runs/verifiers/rankings/?dataset=algo"' in page
    rankings = client.get("/runs/verifiers/rankings/").content.decode()
    assert "2 problems whose candidates all have an official verdict" in rankings
    assert "examples only" in rankings
    assert '<svg class="chart"' in rankings
    assert "No candidate has both" in client.get("/runs/verifiers/rankings/?dataset=other").content.decode()
    assert client.get("/runs/verifiers/rankings/?run=other").status_code == 404
    listed = client.get("/runs/verifiers/").content.decode()
    assert f'href="/runs/verifiers/{verifier.pk}/"' in listed
    assert "not built" not in listed, "what was built of imported programs stands in their place"
    assert verifier.suite is not None
    [quality] = manage("suite_quality", "algo/2609")["suites"]
    assert [(one["name"], one["right"], one["verdict"]) for one in quality["programs"]] == [
        ("code_baseline", False, "WA")
    ]
    assert quality["released"]
    assert "1 of 1 wrong" in client.get("/runs/suites/").content.decode()
    # If the candidate is right, the oracle's suite is wrong.
    Suite.objects.update(right_total=None)
    Candidate.objects.update(official_verdict="AC")
    [withdrawn] = manage("suite_quality", "algo/2609")["suites"]
    assert not withdrawn["released"]
    assert "right programs fail: code_baseline (WA)" in withdrawn["complaints"]
    assert "not released: " in client.get(f"/runs/verifiers/{verifier.pk}/").content.decode()
    suite = client.get(verifier.suite.get_absolute_url()).content.decode()
    assert "answered by an oracle" in suite


def test_an_imported_oracle_that_is_not_deterministic_is_rejected_and_an_interactive_problem_refused(
    shared_data: Path, tmp_path: Path, client: Client
) -> None:
    manage("import_problems", "algo", str(two_problems(shared_data / "algo", tmp_path)), "--dataset", "algo")
    imported = Verifier.objects.get(problem__external_id="2609")
    imported.oracle += (
        "\nimport random\nSolution.findTheLongestBalancedSubstring = lambda self, s: random.random()\n"
    )
    imported.save()
    program = OutputValidator("python", {"talk.py": "print(1)"}, interactive=True)
    Problem.objects.filter(external_id="2645").update(checker=Checker("validator", program=program).to_json())
    document = manage("build_verifier", "--dataset", "algo", "--imported")
    [entry] = document["left_out"]
    assert (entry["id"], entry["reason"].split(":")[0]) == ("2645", "it is interactive")
    [built] = document["verifiers"]
    assert (built["problem"], built["state"], built["tests"]) == ("2609", "non-deterministic", 0)
    [reason] = built["rejected"]
    assert reason.startswith("oracle: non-deterministic on input ")
    with pytest.raises(CommandError, match="2645: it is interactive"):
        manage("build_verifier", "--dataset", "algo", "--imported", "--problems", "2645")
    user = User.objects.create_user("rita")
    user.groups.add(Group.objects.get_or_create(name="researcher")[0])
    client.force_login(user)
    page = client.get(
        f"/runs/verifiers/{Verifier.objects.get(state='non-deterministic').pk}/"
    ).content.decode()
    assert "the oracle is not deterministic" in page
    assert "non-deterministic on input" in page
