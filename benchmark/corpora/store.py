"""Storage of textbooks: an import makes a corpus equal to its source."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction

from benchmark.corpora import FORMATS
from benchmark.corpora.records import ImportedArticle
from benchmark.datasets import SkippedEntry, SourceError
from benchmark.models import Article, Corpus
from benchmark.retrieval import article_corpus

_LONGEST = 300
"""Maximum length of an identifier or a title, in characters."""


@dataclass
class CorpusImport:
    """Counts of an import, its skipped entries, and the content hash of the corpus."""

    corpus: str
    imported: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    content_hash: str = ""
    skipped: list[SkippedEntry] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the document that `import_corpus --json` prints."""
        skipped = [{"id": entry.external_id, "reason": entry.reason} for entry in self.skipped]
        return {name: value for name, value in vars(self).items() if name != "skipped"} | {
            "left_out": skipped
        }


def import_corpus(format_name: str, path: Path, name: str) -> CorpusImport:
    """Store the articles at `path` in the corpus `name`, in one transaction.

    Articles that are no longer in the source are removed, so that searches do not find them. Raises SourceError if
    the source is unusable; then nothing is stored.
    """
    articles: dict[str, ImportedArticle] = {}
    result = CorpusImport(name)
    for entry in FORMATS[format_name](path):
        if not isinstance(entry, ImportedArticle):
            result.skipped.append(entry)
        elif reason := _unstorable(entry, articles):
            result.skipped.append(SkippedEntry(entry.external_id, reason))
        else:
            articles[entry.external_id] = entry
    if not articles:
        reasons = "".join(f"\n  {entry.external_id}: {entry.reason}" for entry in result.skipped[:5])
        raise SourceError(f"{path} contains no searchable article:{reasons}")
    with transaction.atomic():
        corpus, _ = Corpus.objects.get_or_create(name=name, defaults={"format": format_name})
        if corpus.format != format_name:
            raise SourceError(
                f"the corpus {name} contains articles of the format {corpus.format}; "
                f"choose another name for {format_name} with --corpus"
            )
        _write(corpus, articles, result)
    return result


def _write(corpus: Corpus, articles: dict[str, ImportedArticle], result: CorpusImport) -> None:
    stored = {article.external_id: article for article in corpus.articles.all()}
    gone = [article.pk for external_id, article in stored.items() if external_id not in articles]
    result.removed = len(gone)
    corpus.articles.filter(pk__in=gone).delete()
    new, changed = [], []
    for order, (external_id, imported) in enumerate(articles.items()):
        wanted = {"order": order, "title": imported.title[:_LONGEST], "text": imported.text}
        article = stored.get(external_id)
        if article is None:
            new.append(Article(corpus=corpus, external_id=external_id, **wanted))
        elif any(getattr(article, name) != value for name, value in wanted.items()):
            for name, value in wanted.items():
                setattr(article, name, value)
            changed.append(article)
    Article.objects.bulk_create(new)
    Article.objects.bulk_update(changed, ["order", "title", "text"])
    result.imported, result.updated = len(new), len(changed)
    result.unchanged = len(articles) - len(new) - len(changed)
    result.content_hash = article_corpus(corpus).content_hash
    if corpus.content_hash != result.content_hash:
        corpus.content_hash = result.content_hash
        corpus.save()


def _unstorable(article: ImportedArticle, seen: dict[str, ImportedArticle]) -> str:
    """Return why the article cannot be stored, or "" if it can."""
    if article.external_id in seen:
        return "another article of this source has the same identifier"
    if not 0 < len(article.external_id) <= _LONGEST or not article.external_id.isprintable():
        return f"its identifier must be 1 to {_LONGEST} printable characters"
    if not article.text.strip():
        return "it has no text"
    if any(
        character == "\0" or "\ud800" <= character <= "\udfff" for character in article.title + article.text
    ):
        return "it contains a NUL character or half a surrogate pair, which databases reject"
    return ""
