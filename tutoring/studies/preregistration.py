"""The preregistration of a frozen study, as JSON with its hash and as Markdown, and the assumptions of its analysis."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from tutoring.models import Study
from tutoring.studies.design import AutomaticArm, Design, FrozenDesign, HumanArm, canonical_json, parse_frozen

SCHEMA = "hintbench-preregistration/1"

_OUTCOMES = {
    "solved": "1 if the session's one execution is accepted on all tests, else 0.",
    "solved without major breach": "1 if the session is solved and its reviews find no major breach, else 0.",
    "solved and compliant": "1 if the session is solved and its reviews find it compliant, else 0.",
}


_ORDER = (
    "Pairs count in the order in which the last of their sessions was opened, up to the first pair that waits for an "
    "outcome. Rates and other contrasts count their problems in the same way."
)

_EQUALLY_MANY = (
    "The e-value compares equally many sessions or chains of both arms on each problem, the first ones."
)

_COMPLETE_LATER = (
    "Pairs that are started before a stop and complete after it are used too, up to the maximum."
)

_LATER = {
    1: "",
    2: " Pairs that sessions open at the stop complete later are counted, not used.",
    3: f" {_COMPLETE_LATER} Those beyond it are counted, not used.",
}
"""What becomes of pairs that are complete later, by the format of the design."""

_WITHDRAWN = (
    "A session that is withdrawn before its outcome is known counts as not solved: no review can follow."
)


def corrections(frozen: FrozenDesign) -> list[str]:
    """Return what the analysis of the design does otherwise than its preregistration, as sentences.

    The preregistration of a design of an earlier format keeps its sentences and its SHA-256, but some of its rules made
    inference wrong, so they are corrected for every study.
    """
    if frozen.format > 2:
        return []
    if frozen.format == 2:
        return [
            f"{_COMPLETE_LATER} The preregistration leaves them out, although analysis by assignment counts every "
            "session that was started."
        ]
    found = [
        f"{_ORDER} They counted in the order of completion, in which solved sessions that wait for reviews come late.",
        f"{_WITHDRAWN} It had no outcome, and only solved sessions wait for one.",
    ]
    design = frozen.design
    first, second = map(design.sessions_of, design.primary_contrast)
    if design.stopping.rule == "sign e-value" and first != second:
        found.append(
            f"{_EQUALLY_MANY} It compared the means of all of them, of which chance favours that of the arm with more "
            "sessions on some problems and that of the other arm on others."
        )
    used = _interval(design, design.primary_contrast)
    if used != _preregistered_interval(frozen):
        found.append(f"The primary contrast has {used}. The preregistration names the test of other arms.")
    return found


def assumptions(frozen: FrozenDesign) -> list[str]:
    """Return the assumptions of the analysis as sentences."""
    design = frozen.design
    found = [
        "The figures describe the population from which these problems are drawn, with these tutors and these model "
        "versions.",
        "Analysis is by assignment: a session that is abandoned or not finished in time counts as not solved in the "
        "arm to which it was assigned. An expired offer and a fault of the infrastructure are replaced in the "
        "same cell.",
        "Outcomes of different problems are independent given the arms; all problems have equal weight.",
        "A tutor meets a problem once. Which of a problem's tutors gets which arm is an independent random permutation "
        "for each problem.",
    ]
    if frozen.format > 1:
        found.append(_WITHDRAWN)
    if design.primary_outcome != "solved":
        found.append(
            "A session that is not solved needs no review: the outcome is 0. A breach that an admin records counts as "
            "not solved. An automatic arm breaks no rule."
        )
    if design.stopping.rule == "sign e-value":
        chances = (
            "equal chances" if frozen.format == 1 else "equal chances of every compared session and chain"
        )
        found.append(
            "Under no difference the direction of each pair that differs is a fair coin. Between human arms the random "
            f"permutation ensures it; against an automatic arm it is the assumption of {chances} on each problem."
        )
        found.append("After an early stop the estimate and its interval overstate the difference on average.")
    if design.automatic_arms:
        found.append(
            "Chains of automatic arms use draws of their own, not the draws that chose the problems."
        )
    return found


def preregistration(study: Study) -> dict[str, Any]:
    """Return the preregistration as JSON values. `sha256` is the hash of the others as canonical JSON.

    It holds no seed and no outcome, so it can be published before the first session.
    """
    frozen = parse_frozen(study.design)
    content = {
        "schema": SCHEMA,
        "study": study.name,
        "version": study.version,
        "frozen_at": study.frozen_at.isoformat() if study.frozen_at else None,
        "seed_sha256": hashlib.sha256(study.seed.encode()).hexdigest(),
        "design_sha256": study.design_hash,
        "design": frozen.to_json(),
        "analysis": analysis_plan(frozen),
        "assumptions": assumptions(frozen),
    }
    return content | {"sha256": hashlib.sha256(canonical_json(content).encode()).hexdigest()}


def analysis_plan(frozen: FrozenDesign) -> list[str]:
    """Return the planned analysis as sentences. Published hashes cover them, so they never change."""
    design = frozen.design
    first, second = design.primary_contrast
    plan = [
        f"Primary outcome: {design.primary_outcome}. {_OUTCOMES[design.primary_outcome]}",
        f"Primary contrast: {first} less {second}, the mean over problems of the difference of their rates, with "
        f"{_preregistered_interval(frozen)}. Fewer than 6 problems are not tested.",
        "Sensitivity analysis: the same contrast over completed sessions alone.",
    ]
    if design.secondary_contrasts:
        pairs = "; ".join(
            f"{one} less {other}" + (f", with {_interval(design, (one, other))}" if frozen.format > 1 else "")
            for one, other in design.secondary_contrasts
        )
        plan.append(f"Secondary contrasts, with Holm's correction: {pairs}.")
    if design.stopping.rule == "fixed":
        plan.append("There is no interim look.")
    else:
        plan.append(
            "Looks are allowed after every complete pair. The study stops when the sign e-value "
            f"B(1 + x, 1 + n - x) · 2^n of the n pairs that differ reaches {design.stopping.threshold:g}."
        )
    if frozen.format > 1:
        plan.append(_ORDER)
        if design.stopping.rule == "sign e-value":
            plan.append(_EQUALLY_MANY)
    maximum = design.stopping.maximum or len(frozen.problems)
    plan.append(f"At most {maximum} pairs are used.{_LATER[frozen.format]}")
    return plan


def _interval(design: Design, arms: Iterable[str]) -> str:
    """Return the interval and the test of a contrast of these arms, in words (estimation.contrast)."""
    if all(design.sessions_of(arm) == 1 for arm in arms):
        return "Newcombe's interval for paired proportions (1998, method 10) and McNemar's exact test"
    return "the t interval and the t test on problem means, with one degree of freedom less than problems"


def _preregistered_interval(frozen: FrozenDesign) -> str:
    design = frozen.design
    # Format 1 looked at all arms instead of those of the contrast.
    arms = [arm.name for arm in design.arms] if frozen.format == 1 else design.primary_contrast
    return _interval(design, arms)


def arm_text(arm: HumanArm | AutomaticArm) -> str:
    """Return an arm in words."""
    if isinstance(arm, HumanArm):
        return f"{arm.name}: tutors under protocol {arm.protocol} with model {arm.model}"
    settings = ", ".join(f"{name}={value}" for name, value in sorted(arm.settings.items()))
    chains = "1 chain" if arm.draws == 1 else f"{arm.draws} chains"
    return (
        f"{arm.name}: method {arm.method}{f' ({settings})' if settings else ''} with model {arm.model}, {chains} "
        "a problem"
    )


def preregistration_markdown(study: Study) -> str:
    """Return the preregistration as Markdown, with the hash of its JSON form."""
    frozen, record = parse_frozen(study.design), preregistration(study)
    design = frozen.design
    tutors = design.tutors_per_problem
    lines = [
        f"# {design.title}",
        "",
        f"Study {study.name}, version {study.version}, frozen at {record['frozen_at']}."
        + (" A rehearsal: no figure counts it." if design.rehearsal else ""),
        "",
        f"* SHA-256 of this preregistration as JSON: `{record['sha256']}`",
        f"* SHA-256 of the design: `{record['design_sha256']}`",
        f"* SHA-256 of the seed, which is published when the study is closed: `{record['seed_sha256']}`",
        "",
        "## Questions",
        "",
        *(f"{number}. {question}" for number, question in enumerate(design.questions, 1)),
        "",
        "## Arms",
        "",
        *(f"* {arm_text(arm)}" for arm in design.arms),
        "",
        "## Problems",
        "",
        f"{frozen.considered} problems of {design.problems.dataset} were considered, {len(frozen.problems)} are "
        f"eligible{_left_out(frozen)}.",
        "",
        "| problem | stratum | content |",
        "| --- | --- | --- |",
        *(f"| {one.problem} | {one.tier or '-'} | `{one.content_hash[:12]}` |" for one in frozen.problems),
        "",
        *_gate(frozen),
        "## Assignment",
        "",
        f"{len(design.tutors)} tutors; each problem goes to {tutors} of them, {design.sessions_per_cell} a human arm. "
        f"Strata: {design.strata}. The server drew the seed when the design was frozen. Offers expire after "
        f"{design.expiry_days} days. {len(frozen.ineligible)} pairs of a tutor and a problem are excluded because of "
        "earlier sessions.",
        "",
        "## Seen before",
        "",
        f"On these problems there were {frozen.seen.sessions} sessions ({frozen.seen.sessions_of_tutors} of tutors of "
        f"the study) and {frozen.seen.chains} chains of runs with a model of the study.",
        "",
        "## Analysis",
        "",
        *(f"* {sentence}" for sentence in record["analysis"]),
        "",
        "## Assumptions",
        "",
        *(f"* {sentence}" for sentence in record["assumptions"]),
    ]
    return "\n".join(lines) + "\n"


def _left_out(frozen: FrozenDesign) -> str:
    reasons = "; ".join(f"{number} {reason}" for reason, number in frozen.left_out.items())
    return f" (left out: {reasons})" if reasons else ""


def _gate(frozen: FrozenDesign) -> list[str]:
    if not frozen.gate:
        return ["Every problem has hidden tests and a reference program that is accepted on them.", ""]
    findings = [f"* {one.sentence}" for one in frozen.gate]
    return ["Findings that were accepted when the design was frozen:", "", *findings, ""]
