"""What a tutor's page shows of a reply that arrives in chunks: its masked text, and the blocks rendered from it."""

from __future__ import annotations

from benchmark.rendering.markdown_stream import MarkdownStream, RenderedBlocks
from tutoring.sessions.masking import Names, StreamMask


class ReplyStream:
    """One reply on one page. Blocks are rendered from the masked text, so that they contain no more than it does."""

    def __init__(self, names: Names | None) -> None:
        self._mask = StreamMask(names) if names else None
        self._markdown = MarkdownStream()
        self.unrendered = False
        """Whether blocks have ended that `render` has not returned."""

    def feed(self, chunk: str) -> str:
        """Return the text that can be shown after this chunk has arrived; it may be empty."""
        shown = self._mask.feed(chunk) if self._mask else chunk
        self.unrendered = self._markdown.feed(shown)
        return shown

    def render(self) -> RenderedBlocks | None:
        """Return the blocks that have ended since the last call, None without one. The work may take milliseconds."""
        self.unrendered = False
        return self._markdown.render()
