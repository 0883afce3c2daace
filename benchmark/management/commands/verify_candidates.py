"""manage.py verify_candidates: verify candidate programs, and measure the verifiers."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from django.core.management.base import BaseCommand, CommandError, CommandParser

from benchmark.management.arguments import chosen_problems, find_dataset, find_run, not_negative, positive
from benchmark.management.progress import progress_bar
from benchmark.oracles.candidates import (
    RANKINGS,
    CandidateFigures,
    NamedCandidate,
    VerifiedCandidate,
    candidates_of_run,
    figures,
    imported_candidates,
    judged_groups,
)
from benchmark.oracles.correctness import Correctness, correctness_of
from benchmark.oracles.suite_sizes import SIZES, SuiteSizeRow, by_suite_size, write_csv
from benchmark.oracles.verifications import (
    NoVerifierError,
    add_outcomes,
    latest_verifier,
    measure_coverage,
    verification_of,
)
from judge import SandboxFaultError, SandboxUnavailableError
from judge.management.tables import aligned


class JudgedOracle(NamedTuple):
    """An oracle with its official verdict (blank: unknown) and the correctness measured here."""

    problem: str
    official: str
    correctness: Correctness


class Command(BaseCommand):
    help = (
        "Run candidates on the samples and on the oracle tests of their problems' newest verifiers: the imported "
        "candidates of a dataset, or all answers of a run. Prints failures, the smallest failing input found, "
        "agreement with the official verdicts, n@k by verifier, examples, tests written by the model, majority and "
        "random choice, and how often oracles are right. Results are stored and used again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument("--dataset", metavar="NAME", help="its imported candidates")
        whose.add_argument(
            "--run", metavar="RUN", help="the answers of a run, with verdicts on the hidden tests"
        )
        parser.add_argument("--problems", metavar="ID,ID…", help="only candidates for these problems")
        parser.add_argument(
            "--n",
            nargs="+",
            type=positive,
            default=[1, 3, 7],
            metavar="N",
            help="the values of n in n@k; default: 1 3 7",
        )
        parser.add_argument(
            "--sizes",
            nargs="*",
            type=not_negative,
            metavar="TESTS",
            help="also n@k by the number of oracle tests (ALGO's Figure 6); default sizes: "
            + " ".join(map(str, SIZES)),
        )
        parser.add_argument(
            "--csv", type=Path, metavar="FILE", help="write the table of --sizes to this file"
        )
        parser.add_argument(
            "--coverage", action="store_true", help="measure the coverage of statements (Python)"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        chosen = list(progress_bar(_candidates(options), unit="program"))
        if not chosen:
            raise CommandError("There is no candidate to verify.")
        verified, skipped = [], []
        oracles: list[JudgedOracle] = []
        try:
            for candidate in progress_bar(chosen, unit="candidate"):
                try:
                    verified.append(_verified(candidate, coverage=options["coverage"]))
                except NoVerifierError as error:
                    skipped.append({"problem": candidate.problem.external_id, "reason": str(error)})
            oracles = _oracles(verified)
        except (SandboxFaultError, SandboxUnavailableError) as error:
            raise CommandError(
                f"The judge failed. Repeat the command; finished results are stored. {error}"
            ) from None
        found = figures(verified, options["n"])
        sizes = []
        if options["sizes"] is not None or options["csv"]:
            sizes = by_suite_size(judged_groups(verified), options["n"], options["sizes"] or SIZES)
        if options["csv"]:
            write_csv(sizes, options["csv"])
        if options["json"]:
            document = {
                "candidates": [one.to_json() for one in verified],
                "left_out": skipped,
                **found.to_json(),
                "suite_sizes": [one.to_json() for one in sizes],
                "oracles": [one._asdict() | {"correctness": one.correctness.to_json()} for one in oracles],
            }
            self.stdout.write(json.dumps(document, ensure_ascii=False))
        else:
            self._print(verified, found, skipped)
            self._print_sizes(sizes)
            self._print_oracles(oracles)
        if not verified:
            raise CommandError(skipped[0]["reason"])

    def _print(
        self, verified: Sequence[VerifiedCandidate], found: CandidateFigures, skipped: list[dict[str, str]]
    ) -> None:
        rows = [("problem", "candidate", "official", "samples", "tests", "smallest failing input")]
        for one in verified:
            result = one.verification
            official = {True: "accepted", False: "rejected", None: "unknown"}[one.candidate.accepted]
            shown = " ".join(result.minimal["input"].split())[:50] if result.minimal else ""
            samples = "passed" if result.samples_passed else "failed"
            rows.append(
                (
                    one.candidate.problem.external_id,
                    one.candidate.name,
                    official,
                    samples,
                    f"{result.passed}/{result.total}",
                    shown,
                )
            )
        for line in aligned(rows):
            self.stdout.write(line)
        for name, (agreeing, total) in (
            ("samples alone", found.agreement_of_samples),
            ("samples and oracle tests", found.agreement_of_all),
        ):
            share = f" = {agreeing / total:.2%}" if total else ""
            self.stdout.write(f"Agreement of {name}: {agreeing}/{total}{share}")
        if found.coverage:
            before, after = found.coverage["samples"], found.coverage["all"]
            self.stdout.write(f"Coverage: {before:.2%} by the samples, {after:.2%} by all tests")
        for n, values in found.rankings.items():
            shares = ", ".join(f"{RANKINGS[name]} {_share(value)}" for name, value in values.items())
            self.stdout.write(f"{n}@k: {shares}")
        for problem in skipped:
            self.stdout.write(f"Left out: {problem['reason']}")

    def _print_sizes(self, sizes: Sequence[SuiteSizeRow]) -> None:
        rows = [("oracle tests", *(f"{n}@k" for n in sizes[0].at))] if sizes else []
        rows += [(str(one.tests), *map(_share, one.at.values())) for one in sizes]
        for line in aligned(rows) if rows else ():
            self.stdout.write(line)

    def _print_oracles(self, oracles: Sequence[JudgedOracle]) -> None:
        if not oracles:
            return
        passing = sum(
            not (one.correctness.samples.wrong or one.correctness.samples.unanswered) for one in oracles
        )
        verdicts = Counter(one.correctness.verdict for one in oracles)
        counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in ("right", "wrong", "unknown"))
        self.stdout.write(f"Oracles that pass the samples: {passing} of {len(oracles)}")
        self.stdout.write(f"Oracles by samples, hidden tests and reference solutions: {counts}")
        if official := Counter(one.official for one in oracles if one.official):
            numbers = ", ".join(f"{number} {verdict}" for verdict, number in sorted(official.items()))
            self.stdout.write(f"Oracles by the judge of their source: {numbers}")


def _share(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2%}"


def _candidates(options: dict[str, Any]) -> Iterator[NamedCandidate]:
    """Return the candidates; those of a run are judged on the way if they were not yet. Raises CommandError."""
    if options["run"]:
        run = find_run(options["run"])
        problems = chosen_problems(run.dataset, options["problems"])
        return candidates_of_run(run, problems, judge_missing=True)
    dataset = find_dataset(options["dataset"])
    return imported_candidates(chosen_problems(dataset, options["problems"]) or dataset.problems.all())


def _oracles(verified: Sequence[VerifiedCandidate]) -> list[JudgedOracle]:
    """Return the correctness of the oracle of each verifier in use."""
    verifiers = {one.verification.verifier_id: one.verification.verifier for one in verified}
    judged = [(verifier, correctness_of(verifier)) for verifier in verifiers.values()]
    return [
        JudgedOracle(verifier.problem.external_id, verifier.official_verdict, correctness)
        for verifier, correctness in judged
        if correctness
    ]


def _verified(candidate: NamedCandidate, *, coverage: bool) -> VerifiedCandidate:
    verifier = latest_verifier(candidate.problem)
    verification = verification_of(verifier, candidate.submission, minimized=True)
    add_outcomes(verification)
    if coverage and verification.coverage is None and candidate.submission.language == "python":
        try:
            verification.coverage = measure_coverage(verifier, candidate.submission)
        except ValueError:  # a program that does not compile covers nothing
            verification.coverage = {"samples": 0.0, "all": 0.0}
        verification.save(update_fields=["coverage"])
    return VerifiedCandidate(candidate, verification)
