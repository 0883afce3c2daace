"""An imitation of the providers' wire formats; `python -m tests.imitation` runs it on its own."""

from tests.imitation.scripts import BatchScript, Hold, Script, Tokens, failure, pieces_of
from tests.imitation.server import Imitation, Request

__all__ = ["BatchScript", "Hold", "Imitation", "Request", "Script", "Tokens", "failure", "pieces_of"]
