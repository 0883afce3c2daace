"""Corpora of articles that semantic retrieval searches."""

from django.db import models

SHIPPED = "hintbench"
"""The name of the corpus that comes with Hintbench. `./run` loads it, and so does `import_corpus` without a path."""


class Corpus(models.Model):
    """A named collection of articles, filled by one importer."""

    name = models.SlugField(max_length=80, unique=True)
    format = models.CharField(max_length=30)
    content_hash = models.CharField(
        max_length=64, help_text="sha256 over the ids and texts of all articles, in order."
    )
    imported_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["name"]
        verbose_name_plural = "corpora"

    def __str__(self) -> str:
        return self.name


class Article(models.Model):
    """One text of a corpus, which retrieval returns as a whole."""

    corpus = models.ForeignKey(Corpus, on_delete=models.CASCADE, related_name="articles")
    external_id = models.CharField(max_length=300, help_text="Its path or heading, unique in the corpus.")
    order = models.PositiveIntegerField(help_text="Position in the source; it breaks ties of a search.")
    title = models.CharField(max_length=300)
    text = models.TextField()

    class Meta:
        ordering = ["corpus__name", "order"]
        constraints = [
            models.UniqueConstraint(fields=["corpus", "external_id"], name="article_once_per_corpus")
        ]

    def __str__(self) -> str:
        return f"{self.corpus.name}/{self.external_id}"
