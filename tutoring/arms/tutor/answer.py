"""The answer of a tutor's model: one JSON object with a private diagnosis, a level, an act and a message."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from benchmark.text.storable import storable

TutorAct = Literal["talk", "code", "execute"]

_MOST_SHOWN = 200
"""Characters of a value that a fault quotes."""


class AnswerError(ValueError):
    """A reply that is not a valid answer. The message says what is wrong, in a sentence."""


class TutorAnswer(BaseModel):
    """The decision of a tutor's model. The student gets the message alone.

    JSON can escape characters that the reply itself cannot contain, such as NUL and halves of surrogate pairs.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    diagnosis: Annotated[str, AfterValidator(storable)]
    level: Annotated[int, Field(ge=0, le=4)]
    act: TutorAct
    message: Annotated[str, AfterValidator(storable)]


def parse_answer(text: str) -> TutorAnswer:
    """Return the answer in a reply, which may be in a fenced block or between words. Raises AnswerError."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise AnswerError("It has no JSON object.")
    try:
        # Models write line breaks into strings.
        data = json.loads(text[start : end + 1], strict=False)
        answer = TutorAnswer.model_validate(data)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(map(str, fault["loc"])) or "object"
        raise AnswerError(f"{where}: {fault['msg']}, not {str(fault['input'])[:_MOST_SHOWN]!r}.") from None
    except (ValueError, RecursionError) as error:
        raise AnswerError(f"{str(error)[:_MOST_SHOWN]}.") from None
    if answer.act != "execute" and not answer.message.strip():
        raise AnswerError("message: it must not be empty.")
    return answer
