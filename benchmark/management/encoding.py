"""What commands that compare texts by an encoder share: how it is run, and how far it is."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser
from tqdm import tqdm

from benchmark.management.arguments import positive
from benchmark.management.progress import progress_bar
from benchmark.similarity.encoders import Encoding


def add_encoding(parser: CommandParser) -> None:
    """How an encoder is run; nothing of it touches a result."""
    parser.add_argument("--device", metavar="cpu|cuda|…", help="of an encoder; default: the best there is")
    parser.add_argument(
        "--batch-size",
        type=positive,
        default=Encoding.batch_size,
        metavar="N",
        help=f"texts an encoder takes at once; default: {Encoding.batch_size}",
    )
    parser.add_argument(
        "--trust-encoder",
        action="store_true",
        help="let the code that comes with an encoder run in this process; some cannot be loaded without",
    )


def encoding(options: Mapping[str, Any]) -> Encoding:
    """The same as given, with a bar."""
    bar: list[tqdm[Any]] = []

    def progress(done: int, total: int) -> None:
        if not bar:
            bar.append(progress_bar(total=total, initial=done, unit="text", desc="encode"))
        bar[0].update(done - bar[0].n)
        if done == total:
            bar[0].close()

    return Encoding(options["device"], options["batch_size"], options["trust_encoder"], progress)
