"""manage.py extract: show the program in a model's reply. Nothing is run or stored."""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

import judge
from benchmark.extraction import (
    MODES,
    CandidateProgram,
    Ended,
    choose,
    counts_as_generation,
    extract_program,
    find_candidates,
)


class Command(BaseCommand):
    help = (
        "Print the program of a reply that would be judged. The rule that selects it and the other candidates go to "
        "standard error. The exit status is 0 with or without a program."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the text of a reply, in UTF-8; - is standard input")
        parser.add_argument("--language", required=True, metavar="L", help=", ".join(judge.LANGUAGES))
        parser.add_argument(
            "--mode",
            default=MODES[0],
            help=f"{' or '.join(MODES)}; usaco and icpc-eval: as in the published code; default: default",
        )
        parser.add_argument(
            "--ended",
            default=Ended.COMPLETE.value,
            metavar="HOW",
            help=f"how the reply ended, which decides on a generation: {', '.join(Ended)}; default: complete",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document to standard output")

    def handle(self, **options: Any) -> None:
        language, mode, ended = options["language"], options["mode"], options["ended"]
        for option, value, known in (
            ("--language", language, tuple(judge.LANGUAGES)),
            ("--mode", mode, MODES),
            ("--ended", ended, tuple(Ended)),
        ):
            if value not in known:
                raise CommandError(f"{option} {value!r} is unknown. Use one of: {', '.join(known)}.")
        reply = _read(options["file"])
        extraction = extract_program(reply, language, mode)
        others = _others(reply, language) if mode == "default" else []
        if options["json"]:
            document = {
                "program": extraction.code,
                "rule": extraction.rule,
                "generation": counts_as_generation(reply, language, Ended(ended)),
                "candidates": [_described(reply, other) for other in others],
            }
            self.stdout.write(json.dumps(document, indent=2))
            return
        if extraction.code is not None:
            self.stdout.write(extraction.code, ending="" if extraction.code.endswith("\n") else "\n")
        generation = (
            "a generation" if counts_as_generation(reply, language, Ended(ended)) else "no generation"
        )
        self.stderr.write(f"Rule: {extraction.rule}; {generation}.", style_func=str)
        for other in others:
            shown = _described(reply, other)
            first, last = shown["lines"]
            tag = f", tag {shown['tag']}" if shown["tag"] else ""
            mark = f", marked as {shown['said']}" if shown["said"] else ""
            self.stderr.write(
                f"Not chosen: lines {first}-{last}, {shown['form']}, {shown['kind']}{tag}, {shown['holds']}{mark}.",
                style_func=str,
            )


def _read(file: str) -> str:
    """Return the text of the file. Raises CommandError."""
    name = "Standard input" if file == "-" else file
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(
            f"{name} is not UTF-8: byte {error.start} is {content[error.start]:#04x}."
        ) from None
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from None


def _others(reply: str, language: str) -> list[CandidateProgram]:
    """Return the candidates that were not chosen, in the order of the reply."""
    candidates = find_candidates(reply, language) or ()
    chosen = choose(candidates)
    return [candidate for candidate in candidates if candidate is not chosen]


def _described(reply: str, candidate: CandidateProgram) -> dict[str, Any]:
    block = candidate.block
    first = reply.count("\n", 0, candidate.start) + 1
    return {
        "kind": candidate.kind,
        "form": block.form,
        "tag": block.tag,
        "lines": [first, first + reply[candidate.start : candidate.end].rstrip("\n").count("\n")],
        "holds": candidate.level.name.lower().replace("_", " "),
        "said": candidate.mark.name.lower() if candidate.mark else "",
    }
