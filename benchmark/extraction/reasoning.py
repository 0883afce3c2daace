"""Removal of everything outside the answer: reasoning, and text after the end of the model's turn."""

from __future__ import annotations

import re
from collections.abc import Iterator

Span = tuple[int, int]

_NAMES = r"think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|seed:think|antthinking"
_TAG = re.compile(
    rf"(?P<open><(?:{_NAMES})>|\[THINK\]|◁think▷|<\|begin_of_thought\|>)"
    rf"|(?P<close></(?:{_NAMES})>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>)",
    re.IGNORECASE,
)
_QUOTES = frozenset("`\"'“‘")
_CHANNEL = re.compile(
    r"(?:<\|start\|>\s{0,9}assistant\s{0,9})?"
    r"<\|channel\|>\s{0,9}(?P<name>analysis|commentary|final)\b"
    r"(?:[^<\n]{0,200}(?:<\|constrain\|>[^<\n]{0,50})?<\|message\|>)?"
)
_BARE_CHANNELS = re.compile(r"\s*(?:analysis|commentary)(?=[A-Z\s])")
_BARE_FINAL = "assistantfinal"
_END_OF_TURN = re.compile(
    r"<\|(?:im_end|endoftext|eot_id|end_of_text|eom_id)\|>|</s>|<end_of_turn>|<｜end▁of▁sentence｜>"
)
_MARKER = re.compile(
    r"<\|(?:start|end|return|message|channel|constrain|call|im_start|begin_of_text|begin_of_solution|end_of_solution)\|>"
)

_MAY_HIDE = re.compile(rf"[<\[◁\ufeff]|{_BARE_FINAL}")
"""The first characters of every mark of reasoning. Most replies contain none and need no further search."""


def visible_text(reply: str) -> str | None:
    """Return the reply with blanked reasoning, all other characters in place, or None if all of it is reasoning.

    * In a reply with channels (the harmony format), only the channel `final` is visible.
    * A tag such as `<think>` opens reasoning at the start of a line, or anywhere if it is closed later. Text
      before a closing tag without an opening one is reasoning too. A tag in quotes is a mention.
    * Text after the first token that ends the turn is not part of the reply.
    """
    if not _MAY_HIDE.search(reply):
        return reply
    if reply.startswith("\ufeff"):  # a byte order mark, which a program must not begin with
        reply = "\n" + reply[1:]
    channels = list(_CHANNEL.finditer(reply))
    if any(_stands_alone(reply, channel.start()) for channel in channels):
        hidden = list(_other_channels(reply, channels))
    elif _BARE_CHANNELS.match(reply) and _BARE_FINAL in reply:
        hidden = [(0, reply.rindex(_BARE_FINAL) + len(_BARE_FINAL))]
    else:
        hidden = []
    text = _blank(reply, hidden)
    text = _blank(text, _tagged_reasoning(text))
    for end in _END_OF_TURN.finditer(text):
        if _MARKER.sub("", text[: end.start()]).strip():
            text = _blank(text, [(end.start(), len(text))])
            break
    text = _MARKER.sub(lambda marker: " " * len(marker[0]), text)
    return text if text.strip() or not reply.strip() else None


def _stands_alone(reply: str, position: int) -> bool:
    """Return whether a line or another token ends right before the position, so that it is not a mention in prose."""
    before = reply[max(0, position - 40) : position].rstrip(" \t")
    return not before or before.endswith(("\n", "|>")) or reply.startswith("<|start|>", position)


def _other_channels(reply: str, channels: list[re.Match[str]]) -> Iterator[Span]:
    """Yield the headers of all channels and the contents of those that are not final."""
    yield 0, channels[0].start()
    ends = [channel.start() for channel in channels[1:]] + [len(reply)]
    for channel, end in zip(channels, ends, strict=True):
        yield channel.start(), channel.end() if channel["name"] == "final" else end


def _tagged_reasoning(text: str) -> list[Span]:
    tags = [tag for tag in _TAG.finditer(text) if not _is_quoted(text, tag)]
    last_close = max((tag.start() for tag in tags if tag["close"]), default=-1)
    spans: list[Span] = []
    opened: int | None = None
    for tag in tags:
        if tag["open"]:
            if opened is None and (tag.start() < last_close or _begins_line(text, tag.start())):
                opened = tag.start()
            continue
        if opened is None and spans and not text[tag.end() :].strip():
            break  # a stray tag after the answer
        spans.append((0 if opened is None else opened, tag.end()))
        opened = None
    if opened is not None:
        spans.append((opened, len(text)))
    return spans


def _begins_line(text: str, position: int) -> bool:
    before = text[max(0, position - 80) : position].rstrip(" \t")
    return not before or before.endswith("\n")


def _is_quoted(text: str, tag: re.Match[str]) -> bool:
    return text[tag.start() - 1 : tag.start()] in _QUOTES and tag.start() > 0


def _blank(text: str, spans: list[Span]) -> str:
    pieces: list[str] = []
    position = 0
    for begin, end in spans:
        if end <= begin or end <= position:
            continue
        start = max(begin, position)
        # A span ends with a line end, so that a fence right after it is at the start of a line.
        pieces += [text[position:start], re.sub(r"[^\n]", " ", text[start : end - 1]), "\n"]
        position = end
    return "".join([*pieces, text[position:]])
