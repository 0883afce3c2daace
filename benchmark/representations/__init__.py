"""What stands for a problem: its statement, its solution, or what a model wrote about it (docs/spec.md 4.2, 15 ASM).

A model writes each representation once. It is kept under the problem, the model, the parameters and the prompt, whose
hash covers the template and the statement, so every run with the same four finds it.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from benchmark.extraction import extract_program
from benchmark.models import Dataset, Problem, Representation
from benchmark.prompts import Prompt, our_templates
from benchmark.providers import Message, ModelReply, Parameters
from benchmark.retrieval import Corpus


@dataclass(frozen=True)
class Kind:
    """`noun` is what a question calls it; `heading` begins the section of the reply that holds it."""

    name: str
    noun: str
    heading: str = ""

    @property
    def made(self) -> bool:
        """Whether a model writes it."""
        return bool(self.heading)

    @property
    def template(self) -> str:
        """The prompt that asks for it."""
        return f"similarity/{self.name}"


KINDS = {
    kind.name: kind
    for kind in (
        Kind("statement", "description"),
        Kind("summary", "problem abstract", "Problem Restatement"),
        Kind("asm_nl", "English solution", "Natural Language Solution"),
        Kind("asm_pl", "solution program", "Solution Program"),
        Kind("solution", "solution program"),
    )
}


@dataclass(frozen=True)
class Author:
    """The model that writes, and how it is asked."""

    spec: str
    parameters: Parameters

    def __str__(self) -> str:
        asked = self.parameters.to_json()
        return f"{self.spec} {json.dumps(asked, sort_keys=True)}" if asked else self.spec


def writing_of(kind: Kind, dataset: Dataset, author: Author) -> str:
    """The name of the work of writing them, which one process at a time may do, so that none is paid for twice."""
    return f"Writing {kind.name} for {dataset.name} by {author}"


def representation_prompt(kind: Kind, statement: str) -> Prompt:
    """P-13: think freely, then the section with its heading (docs/spec.md 6)."""
    templates = our_templates()
    text = templates.render(kind.template, problem=statement)
    return Prompt((Message("user", text),), templates.hash(kind.template))


def read_section(kind: Kind, reply: str) -> str | None:
    """What follows the last heading in the reply, for asm_pl the program in it; None when there is no such section."""
    headings = list(
        re.finditer(rf"^[\s#*_>]*{kind.heading}[\s*_]*:[*_]*", reply, re.IGNORECASE | re.MULTILINE)
    )
    if not headings:
        return None
    section = reply[headings[-1].end() :].strip()
    if kind.name == "asm_pl":
        return extract_program(section, "python").code
    return section or None


def key(problem: Problem, author: Author, prompt: Prompt) -> str:
    """What a representation is kept under."""
    parts = [problem.pk, author.spec, author.parameters.to_json(), prompt.hash]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def find(kind: Kind, author: Author, problems: Iterable[Problem]) -> dict[str, Representation]:
    """The representations that are kept, by the problems' external ids."""
    wanted = {
        key(problem, author, representation_prompt(kind, problem.statement)): problem.external_id
        for problem in problems
    }
    rows = Representation.objects.filter(kind=kind.name, model_spec=author.spec).defer(
        "messages", "reasoning"
    )
    return {wanted[row.key]: row for row in rows if row.key in wanted}


def keep(kind: Kind, author: Author, problem: Problem, prompt: Prompt, reply: ModelReply) -> Representation:
    """Keep what the model wrote. A reply without the section stands for the problem as a whole, and is flagged."""
    section = read_section(kind, reply.text)
    row, _ = Representation.objects.get_or_create(
        key=key(problem, author, prompt),
        defaults={
            "problem": problem,
            "kind": kind.name,
            "model_spec": author.spec,
            "parameters": author.parameters.to_json(),
            "text": reply.text if section is None else section,
            "section_found": section is not None,
            **stored_columns(prompt, reply),
        },
    )
    return row


REPLY_COLUMNS = (
    "messages",
    "prompt_hash",
    "template_hash",
    "model_returned",
    "reply",
    "reasoning",
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "reasoning_tokens",
    "latency",
    "finish_reason",
    "request_id",
)
"""What a StoredReply consists of."""


def stored_columns(prompt: Prompt, reply: ModelReply) -> dict[str, object]:
    """The columns of a StoredReply."""
    return {
        "messages": prompt.to_json(),
        "prompt_hash": prompt.hash,
        "template_hash": prompt.template_hash,
        "model_returned": reply.model[:200],
        "reply": reply.text,
        "reasoning": reply.reasoning,
        **asdict(reply.usage),
        "latency": reply.latency,
        "finish_reason": reply.finish_reason[:60],
        "request_id": reply.request_id[:200],
    }


class MissingRepresentationError(Exception):
    """A model has not written a representation of every problem; the message says how it does."""


def represented_corpus(problems: Corpus, dataset: Dataset, kind: Kind, model_spec: str) -> Corpus:
    """The problems with their representations as texts, in which similar ones are searched for (docs/spec.md 15, ASM).

    Where the model has written several with other parameters, the latest counts. Raises NotRepresented.
    """
    if not kind.made:
        return problems.holding("statement")
    wanted = {
        document.id: representation_prompt(kind, document.problem.statement).hash
        for document in problems.documents
        if document.problem
    }
    rows = Representation.objects.filter(problem__dataset=dataset, kind=kind.name, model_spec=model_spec)
    texts = {
        external_id: text
        for external_id, prompt_hash, text in rows.order_by("pk").values_list(
            "problem__external_id", "prompt_hash", "text"
        )
        if wanted.get(external_id) == prompt_hash
    }
    missing = len(wanted.keys() - texts.keys())
    if missing:
        raise MissingRepresentationError(
            f"{missing} of {len(wanted)} problems have no {kind.name} by {model_spec}. Let it write them first: "
            f"manage.py represent --dataset {dataset.name} --model {model_spec} --representation {kind.name}"
        )
    return Corpus(tuple(replace(document, text=texts[document.id]) for document in problems.documents))


def own_texts(kind: Kind, problems: Sequence[Problem]) -> dict[str, str]:
    """The statements, or the first reference solutions, by external id; problems without one are not in it."""
    if kind.name == "statement":
        return {problem.external_id: problem.statement for problem in problems}
    return {
        problem.external_id: references[0].source
        for problem in problems
        if (references := list(problem.references.all()))
    }


def texts_of(kind: Kind, author: Author | None, dataset: Dataset) -> Mapping[str, str]:
    """The representations of all problems of the dataset that have one, by external id, in the order of the ids."""
    problems = list(
        dataset.problems.order_by("external_id")
        .only("external_id", "statement", "dataset")
        .prefetch_related("references")
    )
    if author is None:
        return own_texts(kind, problems)
    found = find(kind, author, problems)
    return {
        problem.external_id: found[problem.external_id].text
        for problem in problems
        if problem.external_id in found
    }
