"""Detector of exact references to the model's program that suggest a mistake or a change (F2; docs/spec.md 8.1 c)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from tutoring.rules.caseless import CaselessPattern
from tutoring.rules.detection import Detection, Detector, MessageContext
from tutoring.rules.reading import Background, background_of, code_passages, program_names
from tutoring.rules.texts import is_question, sentences
from tutoring.rules.vocabulary import Language, concepts, language_of, tokens

_LINE_NUMBER = CaselessPattern(
    r"(?:\b(?:lines?|zeilen?|lignes?|l[ií]neas?)\s{1,3}(?:number\s{1,3}|no\.?\s{0,3}|nr\.?\s{0,3}|#)?|"
    r"\bll?\.\s{0,2}|\bL)\d{1,4}(?:\s{0,2}(?:-|–|to|and)\s{0,2}\d{1,4})?\b"
    r"(?!\s{1,3}(?:of|in)\s{1,3}(?:\w{1,20}\s{1,3}){0,2}(?:input|output|sample|statement|example|test))"
    r"|第\s?[\d二三四五六七八九十]{1,3}\s?行(?!输入|样例|有)",
)
_ORDINAL = (
    r"(?:first|second|third|fourth|fifth|sixth|seventh|last|last\sbut\s\w{1,5}|\d{1,3}(?:st|nd|rd|th)|"
    r"fifth-last|third-last)"
)
_COUNTED_LINE = CaselessPattern(
    rf"\b{_ORDINAL}\s{{1,3}}line\s{{1,3}}(?:of|in|inside)\s{{1,3}}(?:your|"
    rf"the)\s{{1,3}}(?:\w{{1,20}}\s{{1,3}}){{0,2}}(?:code|program|loop|function|solution|block|method|class|"
    rf"body)\b"
    rf"|\byour\s{_ORDINAL}\sline\b"
    r"|\b(?:deiner|deine)\s(?:ersten?|zweiten?|dritten?|vierten?|letzten?)\s(?:zeile|anweisung)|"
    r"\bta\s(?:première|deuxième|troisième|dernière)\s(?:ligne|instruction)|\btu\s(?:primera|segunda|"
    r"tercera|última)\s(?:línea|instrucción)",
)
_PLACE = CaselessPattern(
    r"\b(?:(?:right|just|directly|immediately)\s(?:above|below|before|after|under|over|inside|at)|before|"
    r"after|inside|outside|above|below|between|underneath|in)\s(?:the|your)\s(?:\w{1,12}\s){0,2}?"
    r"(?:loop|for|while|if|else|return|print|cout|brace|condition|assignment|comparison|recursion|call|"
    r"function)s?\b"
    r"|\b(?:the|your)\s(?:innermost|inner|outer|last|first|second|closing|two)\s(?:\w{1,8}\s)?(?:loop|for|"
    r"while|if|else|return|statements?|lines?|condition|comparison|assignment|"
    r"branch)s?\b(?!\sof\sthe\s(?:input|output|sample|statement))"
    r"|\b(?:the|that)\s(?:loop|while|for|if|condition|statement|line|assignment|comparison|print|return|"
    r"else)\s(?:over|at|above|below|that|where|in|after|before|of)\b|\bwhere\syou\s(?:sort|set|raise|"
    r"compute|build|add|read|print|initialise|initialize|start|compare|update)\b"
    r"|\b(?:vor|nach|hinter|über|unter|in)\s(?:der|die|dem)\s(?:\w{1,10}\s)?(?:for-|while-|"
    r"letzten\s)?(?:schleife|bedingung|zeile|if)\b|\bletzten\s(?:beiden\s)?(?:anweisungen|zeile|if)\b|"
    r"\bder\s(?:while|for)-schleife\b"
    r"|\b(?:avant|après|dans)\s(?:la|ta|le|ton)\s(?:\w{1,10}\s)?(?:boucle|condition|ligne|if|fonction|"
    r"affichage)\b|\b(?:antes|después|dentro|fuera|encima|debajo)\s(?:de(?:l)?|la)\s(?:\w{1,10}\s)?(?:bucle|"
    r"for|while|if|condición)\b|\bdel\s(?:segundo|último|primer)\s(?:if|for|while|bucle)\b"
    r"|(?:for|while|if|外层|内层|第二个)?\s?(?:循环|条件|语句)(?:之前|之后|里面?|前|后|外面?|写错)|最后(?:一|两)行",
)
_CHANGED_COMPARISON = CaselessPattern(
    r"(?:[<>]=?|[≤≥]|==|!=)[`”\"']?\s{1,2}(?:instead\sof|not|rather\sthan|statt|anstatt|en\slugar\sde|"
    r"en\svez\sde|au\slieu\sde|et\snon)\s{1,2}[`“\"']?(?:[<>]=?|[≤≥]|==|!=)"
    r"|(?<!you\s)\b(?:make|turn|change|replace|switch|use|write|need|put|mach|ersetze|change|cambia|"
    r"remplace|pon|muss)\b.{0,30}(?:greater(?:\sthan)?(?:\sor\sequal)?|less(?:\sthan)?(?:\sor\sequal)?|"
    r"[<>]=?|[≤≥]|größer|kleiner|mayor|menor|supérieur|inférieur)(?![a-z])"
    r"|\b(?:isn[’']t|should(?:n[’']t)?|were|be|heißen|ser)\s(?:it\s|an?\s|un\s)?[`“]?(?:[<>]=?|[≤≥])(?!\w)|"
    r"\bthe\ssecond\s>|(?:改成|换成|应该?是|写成|要用)\s?[<>≤≥]",
)
_SUSPECTED = frozenset({"wrong", "change"})
_SUSPECTING = CaselessPattern(
    r"\b(?:too\s(?:slow|simple|small|large|big|early|late|often|strict|weak)|doesn[’']t\s(?:care|need|"
    r"belong|rule|check|handle|count|include|work)|isn[’']t\s(?:enough|needed|right|needed)|makes?\s(?:this|"
    r"it)\s|blows?\sup|eats?\sup|cuts?\soff|lacks?|"
    r"has\sto\sgo|have\sto\sgo|needs?\sto\sgo|must\sgo|no\sbusiness|is\sthe\sproblem|bottleneck|never\sused|"
    r"then\snever|wrongly|wrong|missing|over\sand\sover|repeats?|only\sworks|can[’']t\s(?:just\s)?be|"
    r"at\sa\stime|step\sat\sa|is\sa\sguess|ought\sto|in\sthe\swrong|overflows?|indented|"
    r"where\sit\sgoes|deal\swith|not\sbe\scalled|darf\snicht|dürfen\snicht|zu\s(?:langsam|klein|groß|früh|"
    r"einfach)|trop\s\w+|demasiado\s\w+)\b|太慢|太小|少了|缺",
)
_BENIGN = CaselessPattern(
    r"\b(?:(?:is|are|was|looks?|that[’']s|it[’']s|all)\s(?:a\s|an\s|both\s|quite\s|very\s|all\s|"
    r"perfectly\s)?(?:right|correct|fine|good|neat|sound|valid|nice|ok|okay|clean|solid|"
    r"natural)(?!\s(?:after|before|above|below|if|only))\b"
    r"|i\s(?:really\s)?like|no\s(?:complaints|objections)|well\sdone|by\shand|on\spaper|your\sown\swords|"
    r"(?:ist|sind)\s(?:richtig|gut|korrekt|in\sordnung)|est\s(?:juste|bien|correct)|está\sbien|es\scorrect)|"
    r"没问题|是对的",
)
_CHANGED_TYPE = CaselessPattern(
    r"\b(?:declare|make|makes?\sit|be|use|becomes?|needs?|turn|into|als|zu|être|en|ser|initiali[sz]e|start|"
    r"set|with)\b[^.?!\n]{0,40}\b(?:long\slong|64-bit|int64|int64_t|unsigned|double|float|tuple|a\spair|"
    r"infinity|unendlich|l[’']infini|infinito|one\selement\slarger|reverse=True)\b|负无穷|long long",
)
_CHANGE_VERB = CaselessPattern(
    r"(?:\A|[.,;:]\s|\b(?:and|then|so|just|only|please|also|otherwise|both|to|you|must|should|"
    r"instead)\s)\s{0,2}(?:declare|initiali[sz]e|subtract|multiply|replace|remove|delete|drop|swap|import|"
    r"increment|decrement|insert|append|rename|reset|"
    r"take\s(?:out|away|off)|get\srid\sof|move|give|add|put|set|change|use|pass|wrap|"
    r"streich|ersetze?|entferne?|lösche?|setze?|initialisiere?|zieh|tausche?|dreh|remplace|supprime|enlève|"
    r"ajoute|mets|retire|change|sors|quita|cambia|reemplaza|resta|suma|pon|elimina|saca|inicializa)\b",
)
_CODE_NOUN = CaselessPattern(
    r"\b(?:(?:second|first|third|last|another|its?)\sargument|argument\sof|minus|plus|(?:greater|"
    r"less)\sthan|equal\ssign|bracket|parenthes[ie]s|semicolon|start(?:ing)?\svalue|index|the\s(?:print|"
    r"return|cout|sort|call|loop|if|while|for|else|counter|range|condition|comparison|assignment|line)|"
    r"zähler|schleife|ausgabe|startwert|compteur|boucle|affichage|contador|bucle|print)\b|循环|计数器|输出|下标|减号|"
    r"加号",
)
_CODE_QUESTION = CaselessPattern(
    r"\b(?:are\syou\s(?:sure|certain)|do\syou\sreally|why\sis\sthere|is\s.{1,40}\sreally|"
    r"do\syou\sthink\sit\scan\sstay|should(?:n[’']t)|did\syou\smean|is\s\S{1,40}\s(?:really\s)?(?:right|correct)|can\sstay|isn[’']t\sthe|off\sby\sone|"
    r"isn[’']t|don[’']t\syou\shave\sto|wouldn[’']t|could\sit\sbe|"
    r"what\s(?:if|would\shappen\sif)\s(?:you|the)|what\sdo\syou\sthink\swould|would\sadding|"
    r"bist\sdu\ssicher|müsste|es-tu\ssûr|ne\s(?:faudrait|devrait)|estás\ssegur|no\sdebería)|你确定|不应该|是不是",
)
_EXPLAIN = CaselessPattern(
    r"\b(?:what\s(?:does|do|is|are|happens)|explain|tell\sme|describe|stands?\sfor|write\sdown|how\s(?:does|"
    r"do|many|often|large)|estimate|table|for\sthe\s(?:first|second)\s(?:stop|customer|round)|was\s(?:ist|"
    r"steht|macht)|welche|erklär|quelle|que\s(?:vaut|fait)|qué)\b|是什么|解释",
)
_THAT_IS_WRONG = CaselessPattern(
    r"\s{0,3}(?:that|this|it|those|these|they|the\s\d|one\sof\s(?:those|them)|"
    r"equal)\b[^.?!\n]{0,60}\b(?:wrong|has\sno|have\sno|belongs|shouldn[’']t|must|has\sto|allows\smore|"
    r"not\sright|the\sproblem|missing)\b",
)
"""A following sentence which says that the named part is wrong."""

_LETTER = re.compile(r"(?<![\w'’])[b-hj-zA-Z]\d?(?![\w'’])")
_DISTINCTIVE = re.compile(r"[^\W_]_+[^\W_]|[a-z][A-Z]|[^\W\d_]{2}\d")


def find_code_references(text: str, context: MessageContext) -> list[Detection]:
    """Return line numbers, places, quotations and names of the model's programs that a message suggests changing."""
    if not context.programs:
        return []
    language = language_of(tokens(text))
    return [
        found for start, end in _spans(text) for found in _in_sentence(text, start, end, context, language)
    ]


def _spans(text: str) -> Iterator[tuple[int, int]]:
    for sentence in sentences(text):
        yield sentence.start, sentence.end


def _in_sentence(
    text: str, start: int, end: int, context: MessageContext, language: Language
) -> Iterator[Detection]:
    sentence = text[start:end]
    for pattern in (_LINE_NUMBER, _COUNTED_LINE):
        for match in pattern.finditer(sentence):
            explanation = "This points at an exact line of the model’s program."
            yield Detection("F2", start + match.start(), start + match.end(), explanation, 0.85)
    if changed := _CHANGED_COMPARISON.search(sentence):
        explanation = "This changes a comparison of the model’s program."
        yield Detection("F2", start + changed.start(), start + changed.end(), explanation, 0.7)
    following = text[end : end + 100]
    suspected = _is_suspected(sentence, language) or _THAT_IS_WRONG.match(following) is not None
    if not suspected or _BENIGN.search(sentence + following[:60]):
        return
    background = background_of(context)
    found = [*_changes(sentence, background), *_passages(sentence, background)]
    for first, last, explanation, weight in found:
        yield Detection("F2", start + first, start + last, explanation, weight)


# Most sentences of a draft are the same at the next check.
@lru_cache(maxsize=2_000)
def _is_suspected(sentence: str, language: Language) -> bool:
    """Return whether the sentence suggests that something in the program is wrong or should be changed."""
    if is_question(sentence):
        return _CODE_QUESTION.search(sentence) is not None
    labels = {label for found in concepts(language).all(tokens(sentence)) for label in found.labels}
    suspected = not labels.isdisjoint(_SUSPECTED) or _SUSPECTING.search(sentence) is not None
    return suspected and _EXPLAIN.search(sentence) is None


def _changes(sentence: str, background: Background) -> Iterator[tuple[int, int, str, float]]:
    """Yield suggested changes of types and of named parts: start, end, explanation and weight."""
    if match := _CHANGED_TYPE.search(sentence):
        yield match.start(), match.end(), "This changes a type or a value of the model’s program.", 0.6
    match = _CHANGE_VERB.search(sentence)
    if match is None or is_question(sentence):
        return
    letters = _LETTER.finditer(sentence, match.end(), match.end() + 60)
    names = program_names(sentence, background)
    if (
        _CODE_NOUN.search(sentence, match.end())
        or any(found[0] in background.names for found in letters)
        or any(first >= match.end() for first, _ in names)
    ):
        yield match.start(), len(sentence.rstrip()), "This says how to change the model’s program.", 0.6


def _passages(sentence: str, background: Background) -> Iterator[tuple[int, int, str, float]]:
    """Yield places, quotations and names of the program: start, end, explanation and weight."""
    if match := _PLACE.search(sentence):
        yield match.start(), match.end(), "This points at a place of the model’s program.", 0.6
    for first, last, kind in code_passages(sentence, background):
        if kind == "own":
            yield first, last, "This quotes the model’s program.", 0.75
    for first, last in program_names(sentence, background):
        name = sentence[first:last]
        quoted = first > 0 and sentence[first - 1] in "`\"“‘'"
        if name in background.functions:
            yield (
                first,
                last,
                f"“{name}” is a function of the model’s program; a large part is no line.",
                0.45,
            )
        elif quoted or _DISTINCTIVE.search(name) or len(name) == 2:
            yield first, last, f"“{name}” is a name in the model’s program.", 0.7 if quoted else 0.6


DETECTOR = Detector(
    name="code-pointing",
    version=3,
    clauses=("F2",),
    finds="line numbers; places, quotations and names of the model's programs that are wrong or to be changed",
    ignores="quotations for the model to explain, and praised ones; names that the statement uses",
    find=find_code_references,
)
