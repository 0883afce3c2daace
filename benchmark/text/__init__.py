"""Text and code of problems and replies: excerpts, programs in running text, normalized tags."""
