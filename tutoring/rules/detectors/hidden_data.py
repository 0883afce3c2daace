"""Detector of claims about hidden tests, and of long numbers and strings that may come from them (F4)."""

from __future__ import annotations

import re
from functools import lru_cache

from tutoring.rules.caseless import CaselessPattern
from tutoring.rules.detection import Detection, Detector, MessageContext
from tutoring.rules.texts import is_question, sentences

_NUMBER = re.compile(r"(?<![\w.,^])\d{5,30}(?!\w)|(?<![\w.,^])\d{1,3}(?:,\d{3}){1,8}(?![\w,])")
_LONG_WORD = re.compile(r"(?<!\w)[A-Za-z]{16,200}(?!\w)")
_ROUND = re.compile(r"\d{1,2}0+\Z")
_HIDDEN = (
    r"(?:hidden|secret|judge[’']?s?[’']?|jury(?:[’']s)?|official|grader(?:[’']s)?|unseen|private|system|"
    r"geheime\w{0,2}|versteckte\w{0,2}|"
    r"verborgene\w{0,2}|offizielle\w{0,2}|der\sjury|cachée?s?|secr[eè]te?s?|du\sju(?:ry|ge)|del\s(?:jurado|"
    r"juez)|oficial(?:es)?|ocult[ao]s?|secret[ao]s?|del\sju(?:rado|ez))"
)
_TEST = (
    r"(?:tests?|cases?|testcases?|files?|inputs?|data|sets?|examples?|ones?|testdaten|testfälle?n?|fälle?n?|"
    r"datei(?:en)?|daten|cas|fichiers?|"
    r"données|jeux?|casos?|pruebas?|datos|archivos?|entradas?)"
)
_HIDDEN_TEST = CaselessPattern(
    rf"\b{_HIDDEN}\s(?:\w{{1,12}}\s){{0,2}}?{_TEST}\b|\b{_TEST}\s(?:\w{{1,8}}\s)?(?:of|in|from|"
    rf"that\syou\scan[’']t\ssee)\b(?:\sthe)?(?:\s\w{{1,8}})?(?:\s{_HIDDEN}\b)?"
    rf"|\b(?:test|tests|prueba|pruebas|caso|casos|cas|fichiers?|données|datos)\s{_HIDDEN}\b|"
    rf"\bhidden\b.{{0,20}}\btests?\b"
    r"|\b(?:archivo|prueba|caso)\s(?:más\s\w{1,10}\s)?del\s(?:jurado|juez)\b|"
    r"\btests?\sthat\syou\scan[’']t\ssee\b|(?:隐藏|秘密|裁判|官方|评测)的?(?:测试|数据|用例|那组)|最大的那组(?:测试|数据)|测试(?:点|"
    r"数据)[里中]",
)
_ONLY_HIDDEN = CaselessPattern(rf"\b{_HIDDEN}\b")
_NUMBERED_TEST = CaselessPattern(
    r"\b(?:tests?|cases?|files?|inputs?|test\s?cases?|testfall|fall|cas|caso|prueba)\s(?:number\s|no\.?\s|#|"
    r"nr\.?\s)?(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b"
    r"|#\d{1,2}\b|\b(?:\d{1,2}(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|"
    r"tenth|last|final|biggest|largest|larger)\s(?:test|test\s(?:case|file|input))s?\b"
    r"|\b(?:ersten|zweiten|dritten|vierten|fünften|letzten|größten)\s(?:test|testfall|fall)\b|\b(?:premier|"
    r"deuxième|troisième|quatrième|dernier)\s(?:test|cas)\b|\b(?:primera?|segund[ao]|tercera?|cuart[ao]|"
    r"últim[ao])\s(?:prueba|caso|test)\b"
    r"|第[\d一二三四五六七八九十]{1,3}[个组](?:隐藏)?(?:测试|数据)|测试点\s?\d",
)
_CONTENT = CaselessPattern(
    r"\b(?:has|have|had|contains?|includes?|consists?|is\sfull\sof|is\snothing\sbut|are\snothing\sbut|"
    r"is\sjust|is\sexactly|is\sbuilt|there(?:[’']s|\sis|\sare)|where|in\swhich|with|whose|use|uses|starts?|"
    r"ends|"
    r"answer|result|output|best|goes|go\sup|asks?|lands?|settle|begins?|"
    r"hat|haben|enthält|enthalten|gibt|ist|sind|besteht|kommt|antwort|lautet|"
    r"a|ont|contient|contiennent|il\sy\sa|sont|est|réponse|vaut|tiene|tienen|contiene|contienen|hay|son|"
    r"está|respuesta|vale|empiezan)\b"
    r"|\b[a-z]\s?(?:=|is\b|≤|<|>)|\d|[:：]|[有是含]|\bis\s(?:an?|the|one|all|empty|n)\b|\bare\s(?:all|random|"
    r"equal|negative|sorted)\b|\ball\b",
)
_THEIRS = CaselessPattern(
    r"\b(?:they|they[’']ve)\s(?:\w{1,8}\s)?(?:have|got|test|check|use|include|"
    r"also\stest)\s(?:it\s)?(?:\w{1,12}\s){0,3}?(?:case|test|file|one|input|with)\b"
    r"|\btheir\s(?:\w{1,10}\s){0,2}(?:tests?|cases?|files?|data|inputs?|folder|largest|biggest)\b"
    r"|\bthere(?:[’']s|\sis|\sare)\s(?:also\s)?(?:an?|one|some|several)\s(?:\w{1,10}\s){0,2}(?:tests?|"
    r"cases?|files?)\b(?=.{0,20}\b(?:with|where|in\swhich|of|that\shas|full)\b)"
    r"|\b(?:the|all|most|half|several|one|some|none)\s(?:of\s)?(?:the\s|their\s|"
    r"these\s)?(?:\w{1,8}\s)?(?:tests|files|test\sdata|test\sfiles)\s(?:contain|include|have|has|consists?|"
    r"all\shave|are\sall)\b"
    r"|\bin\s(?:most|all|some|half|one|five|two|three|several)\sof\s(?:the|their)\s(?:\w{1,8}\s)?(?:tests|"
    r"files)\b"
    r"|\b(?:file|case|test)\sin\swhich\sall\b|\bI(?:[’']ve)?\s(?:had\sa\speek|looked\sat\sthe\stests|"
    r"seen\sthe\s(?:data|tests)|know\sthe\stest)|\bthe\slast\sfile\b|\bcase\s(?:ten|\d{1,2}):"
    r"|\bin\sden\stestdaten\b|\btestdaten\sgesehen\b|\btest(?:fall)?,?\sin\sdem\b",
)
_NO_CLAIM = CaselessPattern(
    r"\b(?:don[’']t|do\snot|doesn[’']t|can[’']t|cannot|won[’']t|haven[’']t|have\snot|wouldn[’']t|nobody|"
    r"never|mustn[’']t|shall\snot|will\snot)\s(?:\w{1,8}\s){0,3}?(?:know|tell|seen|see|say|talk|reveal|read|"
    r"look)"
    r"|\bare\shidden\b|\b(?:scoring|statement|subtasks?|section|limits?|samples?|examples?|paragraph|story|"
    r"you\ssaid)\b|\b(?:kenne|verrate|sage)\b.{0,40}\bnicht|\bnicht\s(?:gesehen|kenne)"
    r"|\b(?:connais|dirai|sais|vu)\s(?:pas|rien)\b|\bpas\svu\b|\bno\s(?:conozco|he\svisto|sé|te\sdiré)\b|"
    r"不知道|没有?看过|不能告诉|样例|题目",
)
_VERDICT = CaselessPattern(
    r"\b(?:pass(?:es|ed)?|fails?|failed|times?\sout|timed\sout|time|limit|crash\w*|wrong|accepted|rejected|"
    r"tle|wa|mle|re|overflow|error|\w{1,15}error|solved|seconds?|mismatch|server|killed|ran|runs|out\sof|"
    r"returns?|fine|ok|points?|unhappy|slow|prints?|falsche\santwort|mauvaise|réponse\sincorrecte|"
    r"respuesta\sincorrecta|incorrecta)\b|超时|通过|过了|错",
)
_QUESTION_OF_STUDENT = CaselessPattern(
    r"\b(?:which|what\s(?:kind|would|do|does|are|is\sthe\slargest)|would\syou|your\sown)\b"
)
_COMMON_NUMBERS = frozenset({"998244353", "1000000007", "1000000009", "2147483647", "2147483648"})
"""Common moduli and limits of integer types."""


def hidden_tokens(text: str) -> set[str]:
    """Return the numbers and strings of a hidden test that are too long for a chance match."""
    return {found[0] for pattern in (_NUMBER, _LONG_WORD) for found in pattern.finditer(text)}


def find_hidden_data(text: str, context: MessageContext) -> list[Detection]:
    """Return claims about the content of hidden tests, and tokens that may come from them."""
    return _claims(text) + _tokens(text, context)


def _claims(text: str) -> list[Detection]:
    """Return the sentences that say what a hidden test contains, whether or not the claim is true."""
    explanation = "This tells what a test contains that the statement does not show."
    found = []
    for sentence in sentences(text):
        body = sentence.text.strip()
        if _is_claim(body):
            start = sentence.start + len(sentence.text) - len(sentence.text.lstrip())
            found.append(Detection("F4", start, start + len(body), explanation, 0.7))
    return found


# Most sentences of a draft are the same at the next check.
@lru_cache(maxsize=2_000)
def _is_claim(sentence: str) -> bool:
    """Return whether the sentence says what a hidden test contains."""
    if _NO_CLAIM.search(sentence) or (is_question(sentence) and _QUESTION_OF_STUDENT.search(sentence)):
        return False
    named = _HIDDEN_TEST.search(sentence)
    hidden = named is not None and (
        "see" in named[0] or _ONLY_HIDDEN.search(named[0]) is not None or not named[0].isascii()
    )
    numbered = _NUMBERED_TEST.search(sentence)
    outside = sentence
    for match in (named if hidden else None, numbered):
        if match:
            outside = outside.replace(sentence[match.start() : match.end()], " ", 1)
    if _VERDICT.search(outside):
        return False
    if _THEIRS.search(sentence):
        return True
    content = _CONTENT.search(outside) is not None and re.search(r"[^\W\d]", outside) is not None
    return content and (hidden or numbered is not None)


def _tokens(text: str, context: MessageContext) -> list[Detection]:
    """Return tokens of hidden tests in a recorded message, or long numbers of unknown source in a draft (a notice).

    A draft is never compared with hidden tests: the result would reveal their content to the tutor.
    """
    hidden = context.hidden_tokens
    passages = [(found.start(), found.end(), found[0].replace(",", "")) for found in _NUMBER.finditer(text)]
    passages = [passage for passage in passages if _is_distinctive(passage[2])]
    if hidden is not None:
        passages += [(found.start(), found.end(), found[0]) for found in _LONG_WORD.finditer(text)]
        passages = [passage for passage in passages if passage[2] in hidden]
    if not passages:
        return []
    known = " ".join((context.statement, context.analysis, *context.references, *context.replies))
    known = known.replace(",", "")
    if hidden is None:
        explanation = (
            "This long number is in no text that you or the model were given. Test data must not be told."
        )
        weight = 0.4
    else:
        explanation, weight = "This is in a hidden test and in no text that the tutor was given.", 0.9
    return [
        Detection("F4", start, end, explanation, weight, certain=hidden is not None)
        for start, end, token in sorted(passages)
        if token not in known
    ]


def _is_distinctive(number: str) -> bool:
    return len(number) >= 5 and not _ROUND.match(number) and number not in _COMMON_NUMBERS


DETECTOR = Detector(
    name="hidden-data",
    version=3,
    clauses=("F4",),
    finds=(
        "claims about the content of hidden tests; in a record: long numbers and strings of hidden tests; in a "
        "draft: long numbers of unknown source (a notice)"
    ),
    ignores="limits and subtasks of the statement, round numbers, and every text that the tutor can see",
    find=find_hidden_data,
)
