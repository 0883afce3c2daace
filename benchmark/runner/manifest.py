"""The manifest of a run: everything its results depend on, recorded when the run starts."""

import hashlib
import platform
import subprocess
from collections.abc import Iterable
from importlib import metadata
from typing import Any

from django.conf import settings as django_settings
from django.db.models import Q
from django.utils import timezone

import judge
from benchmark.methods import Method, MethodSettings, RepresentationSettings, SemanticSettings
from benchmark.models import Corpus, Dataset, Suite
from benchmark.providers import ModelSpec, is_scripted
from benchmark.representations import KINDS, represented_corpus
from benchmark.retrieval import problem_corpus

_PACKAGES = ("django", "rank-bm25", "numpy", "openai", "anthropic")


def make_manifest(
    dataset: Dataset, spec: ModelSpec, method: Method, settings: MethodSettings
) -> dict[str, Any]:
    """Return the manifest of a new run as JSON."""
    return {
        "dataset": {
            "name": dataset.name,
            "problems": dataset.problems.count(),
            "content_hash": dataset_hash(dataset),
        },
        "textbook": textbook(settings),
        "representations": representations(dataset, spec, settings),
        "suites": suites(dataset, settings),
        "templates": template_hashes(method, settings),
        "prompts": settings.prompts_source,
        "scripted_model": is_scripted(spec),
        "policy": settings.policy,
        "environment": environment(settings.language),
        "created_at": timezone.now().isoformat(timespec="seconds"),
    }


def dataset_hash(dataset: Dataset) -> str:
    """Return the sha256 of the ids and content hashes of all problems; retrieval reads all of them."""
    return hash_of_problems(dataset.problems.order_by().values_list("external_id", "content_hash"))


def hash_of_problems(rows: Iterable[tuple[str, str]]) -> str:
    """Return the sha256 of the id and the content hash of each problem, in any order."""
    text = "\n".join(f"{external_id} {content}" for external_id, content in sorted(rows))
    return hashlib.sha256(text.encode()).hexdigest()


def textbook(settings: MethodSettings) -> dict[str, str] | None:
    """Return name and content hash of the searched textbook, or None. Raises Corpus.DoesNotExist."""
    if not isinstance(settings, SemanticSettings):
        return None
    corpus = Corpus.objects.filter(name=settings.textbook).first()
    if corpus is None:
        raise Corpus.DoesNotExist(f"There is no textbook {settings.textbook!r} to search.")
    return {"name": corpus.name, "content_hash": corpus.content_hash}


def representations(dataset: Dataset, spec: ModelSpec, settings: MethodSettings) -> dict[str, str] | None:
    """Return kind and content hash of the searched representations, or None. Raises MissingRepresentationError."""
    if not isinstance(settings, RepresentationSettings) or settings.representation == "statement":
        return None
    problems = problem_corpus(dataset, settings.language)
    found = represented_corpus(problems, dataset, KINDS[settings.representation], str(spec))
    return {"kind": settings.representation, "content_hash": found.content_hash}


def suites(dataset: Dataset, settings: MethodSettings) -> dict[str, int] | None:
    """Return the version of each problem's newest released suite, by id; None where the imported tests are used.

    A suite that is measured by known programs overrides an oracle's suite that is not.
    """
    if settings.tests == "imported":
        return None
    released = Suite.objects.filter(problem__dataset=dataset, released_at__isnull=False)
    best_last = released.alias(by_known_programs=Q(right_total__isnull=False)).order_by(
        "by_known_programs", "version"
    )
    return dict(best_last.values_list("problem__external_id", "version"))


def template_hashes(method: Method, settings: MethodSettings) -> dict[str, str]:
    """Return the hash of each text and template that the method uses, and of whole prompts. Raises TemplateError."""
    templates = settings.form.templates
    hashes = {name: templates.hash(name) for name in (*method.templates(settings), *templates.whole)}
    return hashes | {name: hashlib.sha256(text.encode()).hexdigest() for name, text in method.texts().items()}


def environment(language: str) -> dict[str, Any]:
    """Return the versions of the code, the judge and the machine."""
    return {
        "git": _git(),
        "judge_version": judge.JUDGE_VERSION,
        "language": language,
        "compiler": _compiler(language),
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in _PACKAGES},
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def _compiler(language: str) -> str | None:
    """Return the version of this machine's compiler; None if only judge workers on other machines have one."""
    try:
        return judge.compiler_version(language)
    except judge.ToolMissingError:
        return None


def _git() -> dict[str, Any] | None:
    """Return the commit of the source and whether files differ from it; None outside a checkout."""
    try:
        commit = _git_output("rev-parse", "HEAD")
        dirty = bool(_git_output("status", "--porcelain"))
    except (OSError, subprocess.CalledProcessError):
        return None
    return {"commit": commit, "dirty": dirty}


def _git_output(*arguments: str) -> str:
    command = ["git", "-C", str(django_settings.BASE_DIR), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
