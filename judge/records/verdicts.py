"""The verdicts of tests and of submissions (docs/spec.md 0)."""

from enum import StrEnum


class Verdict(StrEnum):
    """A verdict on a program. JE reports a fault of the judge and says nothing about the program."""

    AC = "AC"
    WA = "WA"
    TLE = "TLE"
    MLE = "MLE"
    OLE = "OLE"
    RTE = "RTE"
    CE = "CE"
    NO_CODE = "NO_CODE"
    JE = "JE"


VERDICT_MEANING: dict[Verdict, str] = {
    Verdict.AC: "Accepted: every test was answered correctly within the limits.",
    Verdict.WA: "Wrong answer: the program ended normally, but its output is not a correct answer.",
    Verdict.TLE: "Time limit exceeded: the program used more time than the problem allows.",
    Verdict.MLE: "Memory limit exceeded: the program needed more memory than the problem allows.",
    Verdict.OLE: "Output limit exceeded: the program printed more than the problem allows.",
    Verdict.RTE: "Run-time error: the program crashed or ended with an exit status other than 0.",
    Verdict.CE: "Compilation error: the program could not be compiled, so no test was run.",
    Verdict.NO_CODE: "No code: there was no program to judge.",
    Verdict.JE: "Judge error: the judge itself failed; this says nothing about the program.",
}
"""One sentence for each verdict; prompts contain these texts."""
