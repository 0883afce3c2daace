"""Options and progress of commands that compare texts with an encoder."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser
from tqdm import tqdm

from benchmark.management.arguments import positive
from benchmark.management.progress import progress_bar
from benchmark.similarity.encoders import Encoding


def add_encoding(parser: CommandParser) -> None:
    """Add the options of an encoder, which do not affect results."""
    parser.add_argument(
        "--device", metavar="cpu|cuda|…", help="device of an encoder; default: the best available"
    )
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
        help="run code that is shipped with an encoder in this process; some encoders need it",
    )


def encoding(options: Mapping[str, Any]) -> Encoding:
    """Return the encoder settings of the options, with a progress bar."""
    bar: list[tqdm[Any]] = []

    def progress(done: int, total: int) -> None:
        if not bar:
            bar.append(progress_bar(total=total, initial=done, unit="text", desc="encode"))
        bar[0].update(done - bar[0].n)
        if done == total:
            bar[0].close()

    return Encoding(options["device"], options["batch_size"], options["trust_encoder"], progress)
