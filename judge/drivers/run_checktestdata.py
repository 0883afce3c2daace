"""Check standard input against the grammar in validator.ctd in this folder, inside the sandbox.

Exits with 42 for a valid input and 43 for an invalid one. Any other status is a fault of the grammar.
"""

import sys
from pathlib import Path

from checktestdata.lib import ValidationError
from checktestdata.parser import ParserException, parse
from checktestdata.tokenizer import EOFException, tokenize

GRAMMAR = "validator.ctd"


def end(status: int, message: object = "") -> None:
    """Print the message to standard error and exit."""
    sys.stderr.write(str(message))
    sys.exit(status)


sys.setrecursionlimit(10**7)
sys.argv[1:] = []
try:
    parser = parse(tokenize(Path(__file__).with_name(GRAMMAR).read_bytes()))
    exec(compile(parser.python_code(), GRAMMAR, "exec"), parser.python_globals())  # noqa: S102  (in the sandbox)
except ValidationError as error:
    end(43, error)
except ParserException as error:
    end(2, f"line {error.token.line}, column {error.token.column}: {error}")
except EOFException as error:
    end(2, f"{GRAMMAR}: {error}")
end(42)
