"""Detector of results that only a run shows, beyond what the protocol lets the tutor say (F5)."""

from __future__ import annotations

import re
from functools import lru_cache

from tutoring.rules.caseless import CaselessPattern
from tutoring.rules.detection import Detection, Detector, MessageContext
from tutoring.rules.phrases import PhrasePattern, phrases_in

_COUNT = (
    r"(?:\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fifteen|twenty|"
    r"half|none|some|most|"
    r"many|all|few|eine?r?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|alle|keiner|un|une|"
    r"deux|trois|quatre|cinq|"
    r"sept|huit|neuf|dix|onze|douze|aucun|uno|una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|"
    r"doce|ninguna?|la mitad)"
)
_TESTS = (
    r"(?:tests?|cases?|testcases?|samples?|inputs?|files?|ones|testfälle?n?|fälle?n?|beispiele?|cas|"
    r"exemples?|fichiers?|casos?|"
    r"pruebas?|ejemplos?|archivos?)"
)
_PASSED = CaselessPattern(
    rf"\b(?:pass(?:es|ed|ing)?|fail(?:s|ed|ing)?|solv(?:es|ed)|clears?|"
    rf"survives?)\s(?:on\s)?(?:\w{{1,15}}\s){{0,4}}?{_TESTS}(?:\s{_TESTS})?\b"
    rf"|\b(?=(?:{_COUNT}|tests?|cases?|only)\s)(?:(?!one\spass\b)(?:{_COUNT}|tests?|"
    rf"cases?)\s(?:of\s(?:the\s)?)?(?:\d{{1,3}}\s)?(?:\w{{1,10}}\s){{0,2}}?(?:{_TESTS}\s)?(?:\d{{1,2}}(?:\s?[-–,]\s?\d{{1,2}}|"
    rf"\s(?:to|and)\s\d{{1,2}})?\s)?"
    r"(?:passe?[sd]?|pass|fail(?:s|ed)?|were\s(?:right|wrong)|(?:are|is|come\sback|came\sback)\s(?:green|"
    r"red|accepted|rejected))\b"
    rf"|{_COUNT}\s(?:out\sof|of(?:\sthe)?|von(?:\sden)?|sur|de(?:\slas|\slos)?|/)\s(?!two\b|2\b|one\b|"
    rf"zwei\b|deux\b|dos\b){_COUNT}(?:\s\w{{1,10}})?\s(?:{_TESTS}|points?|punkten?|puntos?)\b"
    rf"|(?:{_COUNT}|only)\s(?:\w{{1,10}}\s){{0,2}}?points?\b(?:\sout\sof\b|\sfor\b|\sso\sfar\b)"
    rf"|(?:{_COUNT})\s(?:der\s)?(?:\w{{1,10}}\s){{0,3}}?(?:tests?|fälle|testfälle)\s(?:laufen|läuft|gehen|"
    rf"geht|schlagen|scheitern|bestehen|brechen|sind\sbestanden)"
    rf"|(?:{_COUNT})\s(?:\w{{1,10}}\s){{0,3}}?(?:tests?|cas)\s(?:sur\s\w{{1,6}}\s)?(?:passent|échouent|"
    rf"réussis|sont\s(?:acceptés|refusés)))"
    rf"|\b(?:pasan|fallan|pasa|falla)\s(?:\w{{1,10}}\s){{0,3}}?(?:casos?|pruebas?|tests?)\b"
    rf"|\b(?:tests?|cases?|samples?)\s(?:number\s)?\d{{1,2}}(?:\s?(?:[-–,]|to|and)\s?\d{{1,2}})?\s(?:is|are|"
    rf"was|were)\s(?:all\s)?(?:fine|ok|okay|right|wrong|good|correct|incorrect|bad|not\sok)\b"
    rf"|\b(?:first|second|third|fourth|last|other|small|large|big|secret|"
    rf"hidden)(?:\s\w{{1,10}})?\s{_TESTS}\s(?:is|are|was|were|still\sare)\s(?:all\s|not\s)?(?:fine|ok|okay|"
    rf"right|wrong|accepted|rejected)\b"
    rf"|\b(?:first|last)\s(?:{_COUNT}\s)?{_TESTS}\s(?:survive|work|go\sthrough|went\sthrough|came\sback)\b"
    r"|\b(?:got|get|gets|stuck|fails?|wrong|slow|right)\s(?:it\s)?(?:stuck\s)?(?:on|in|for|from|"
    r"at)\s(?:tests?|cases?)\s(?:\d|one|two|three|four|five|six|seven|eight|nine|ten)"
    r"|\b(?:everything|anything|nothing)\s(?:after\sthat|else|above|beyond)\s(?:fails|is\swrong|works|"
    r"passes)\b"
    rf"|\b(?:solves?|passes|clears)\s{_COUNT}\s(?:of|out\sof)\s{_COUNT}\b|\b(?:no|none|"
    rf"not\sone)\s(?:of\sthe\s)?tests?\s(?:is|was|pass|are)\b"
    rf"|\b(?:du\shast|tu\sas|tienes|you\shave|gets\syou)\s{_COUNT}\s(?:(?:von|sur|"
    rf"de)\s\d{{1,3}}\s)?(?:punkte|points|puntos|percent)\b"
    r"|\bpoints\sfor\s(?:the\s)?\w{1,8}\stests?\b|\bhalf\sthe\spoints\b|\d\s?(?:%|"
    r"percent)\sof\sthe\stests\b"
    r"|\bgehen\sdurch\b.{0,40}\bnicht\b|\b(?:petits|gros|grands)\scas\ssont\s(?:acceptés|refusés)|"
    r"\bcasos\s(?:pequeños|grandes)\sse\saceptan"
    r"|\b(?:salen|sale)\sbien\b.{0,30}\b(?:pero|y)\b|得了\s?\d{1,3}\s?分|(?:小|大)数据(?:都)?(?:没)?过|(?:过了|通过了?|没过|"
    r"错了)[\d一二三四五六七八九十两几]{1,3}\s?个|[\d一二三四五六七八九十两]{1,3}\s?[个组](?:测试点?|点|数据)?(?:都)?(?:过了|通过|没过|超时|错|对了)",
)
_RATIO = CaselessPattern(
    rf"\A\W{{0,3}}\d{{1,3}}\s?/\s?\d{{1,3}}(?:\s(?:tests?|points?|passed|only|so\sclose))?\W{{0,4}}\Z"
    rf"|\A\W{{0,3}}(?:just\s|only\s)?{_COUNT}\s(?:out\sof|of|von|sur|de)\s(?:the\s)?(?:\d{{1,3}}|ten|eleven|"
    rf"twelve|thirteen|fifteen|zehn|zwölf|dix|douze|diez|doce)\b[^?]{{0,30}}\Z",
)
_LIMITS = CaselessPattern(
    r"\b(?:tim(?:es|ed|ing)\s?-?out|time[\s-](?:limit\s)?(?:is\s|was\s)?exceeded|(?:time|"
    r"memory)[\s-]limit\s(?:is\s|was\s)?(?:exceeded|hit|reached)|"
    r"exceed(?:s|ed)\sthe\s(?:time|memory)?\s?limit|out\sof\smemory|r[au]n(?:s|ning)?\sout\sof\s(?:time|"
    r"memory)|(?:took|takes|needed|ran|runs)\s(?:for\s)?(?:longer|more)\sthan\s\w{1,6}\s(?:seconds|s)\b|"
    r"(?:takes|took|runs|ran|needs|needed)\s(?:for\s)?\w{1,6}\sseconds\s(?:on|in|for|here|and)\b|(?:time|"
    r"memory)[\s-]limit\s(?:on|in|at|from)\s|(?:time|memory)[\s-]limit\.?\s{0,2}\Z|hits?\sthe\swall|"
    r"tests?\s[\d\s,to–-]{1,9}\stime\sout\b|"
    r"(?:tests?|cases?|ones)\stime\sout|takes?\sforever|in\stime\?\s{1,2}no\b|clock\sruns\sout|"
    r"(?:was|is|got|gets|been)\s(?:killed|aborted|terminated|interrupted|cut\soff)\b|(?:judge|server|"
    r"grader)\s(?:stopped|killed|cut|aborted|interrupted)|"
    r"stopped\safter\s[\d.,]{1,5}\s?s|(?:within|in)\sthe\sallotted\stime|allotted\stime|never\scame\sback|"
    r"ins\szeitlimit\b|arrêté\ston\sprogramme|(?:juez|"
    r"servidor)\s(?:lo\s|te\s)?(?:cortó|paró|detuvo)|"
    r"zeitlimit\s(?:wurde\s)?überschritten|zeitüberschreitung|überschreitet\sdas\s(?:zeit|speicher)limit|"
    r"brechen?\s(?:nach\s.{1,20}\s)?ab\b|"
    r"dépass(?:e|é|ement)\s(?:le\stemps|la\slimite|de\s(?:temps|mémoire))|temps\s(?:limite\s)?dépassé|"
    r"se\spas[aó]\sdel\s(?:tiempo|límite)|(?:excede|excedió|supera)\sel\s(?:tiempo|límite)|(?:tiempo|"
    r"límite)(?:\s\w+)?\sexcedido)"
    r"|超时|超[出过](?:了)?(?:时间|内存)|内存超限|时间超限|爆内存|被(?:杀|终止)",
)
_ABBREVIATIONS = re.compile(r"\b(?:TLE|MLE|RTE|WA)\b|\b(?:RE|AC)\son\b")
_ERRORS = CaselessPattern(
    r"\bTraceback\b|\b(?:Index|Key|Value|Type|Name|ZeroDivision|Recursion|Attribute|Memory|EOF|Runtime|"
    r"UnboundLocal)Error\b"
    r"|\b(?:gives|gave|throws|threw|raises|raised|crash(?:es|"
    r"ed))\s(?:with\s)?(?:an?\s)?(?:\w{1,15}\s){0,2}(?:error|exception)\b"
    r"|\b(?:it|program|code|solution|that)\s(?:just\s)?(?:crash(?:es|ed)|segfault(?:s|ed))\b|"
    r"\bsegmentation\sfault\b|\bsegfault|\bruntime\serror\b"
    r"|\bthere\swas\san\s(?:exception|error)\b|\bfall(?:ó|a)\scon\b|\bterminée?\spar\sune\s(?:exception|"
    r"erreur)\b|\b(?:sanitizer|exit\scode|stack\soverflow)\b|\b(?:did\snot|didn[’']t|does\snot|"
    r"doesn[’']t)\scompile\b|\bcompil(?:e|ation)\serror\b"
    r"|\bstürzt\b.{0,30}\bab\b|\babgestürzt\b|\blaufzeitfehler\b|\bspeicherzugriffsfehler\b|"
    r"\berreur\s(?:de\ssegmentation|d[’']exécution)\b|\bplante\b"
    r"|\b(?:violación|fallo)\sde\ssegmento\b|\berror\sde\sejecución\b|崩溃|段错误|运行时?错误|报错",
)
_NUMBER = r"-?\d[\d ,.]{0,12}"
_OUTPUT = CaselessPattern(
    rf"\b(?:code|program|solution|version|it|which|you|yours|it[’']s|"
    rf"test\s\d{{1,2}})\s(?:\w{{1,12}}\s)?(?:outputs?|print(?:s|ed|ing)?|returns?|returned|gives?|gave|"
    rf"says?|said)\s(?:out\s)?(?:\w{{1,8}}\s)?{_NUMBER}"
    rf"(?!\s?(?:cows|times|lines|numbers))"
    rf"|\b(?:outputs?|prints?|printed|gives?|gave|returns?|got|says?|out\scome|came\sout\sas|"
    rf"comes\sup\swith)\s(?:out\s)?{_NUMBER}[^?\n]{{0,40}}\b(?:expected|should|right|correct|wants?|ought|"
    rf"instead|is\swhat|whereas|actual|answer)\b"
    rf"|\b(?:yours?|you\s(?:print|say|get|output))\b.{{0,12}}{_NUMBER}.{{0,20}}\b(?:correct|expected|right|"
    rf"should|answer)\b"
    rf"|\b(?:affiche|imprime|gibt|liefert|druckt|devuelve|donne|da|sale|"
    rf"renvoie)\b.{{0,25}}?{_NUMBER}.{{0,25}}\b(?:alors|bonne|attendu|attendait|correct[ao]?|richtig|"
    rf"erwartet|statt|debería|esperaba|respuesta|au\slieu|en\svez|en\slugar)"
    rf"|\b(?:expected|erwartet|attendu|esperado)\s(?:was\s|is\s|wird\s)?{_NUMBER}\s?(?:but|and|,|got)|"
    rf"{_NUMBER}(?:is|was)\sexpected\b|\bexpected\s(?:was|is)\s{_NUMBER}"
    rf"|\A\W{{0,3}}{_NUMBER}(?:instead\sof|rather\sthan|statt|au\slieu\sde|"
    rf"en\svez\sde)\s{_NUMBER}\W{{0,3}}\Z|\binstead\sof\s{_NUMBER}(?:your|the|it)\b.{{0,20}}{_NUMBER}"
    rf"|\b(?:get|got|obtiens|obtient|gibst\sdu|bekommst\sdu|bekomme\sich|te\ssale|"
    rf"obtienes)\s{_NUMBER}.{{0,40}}\b(?:instead|but|rather|au\slieu|statt|aus\sstatt|en\svez|en\slugar|and|"
    rf"while)\b"
    rf"|\b(?:sample|test|case|example|beispiel)\s?\d?\b.{{0,25}}\bwrong\b.{{0,3}}{_NUMBER}|\b(?:you\ssay|"
    rf"you\sprint|yours\sis|your\splan\s(?:opens|says)|your\sanswer(?:\sfor\s\w{{1,8}}\s\w{{1,8}})?\sis|"
    rf"deine\sausgabe\sist)\s(?:{_NUMBER}|zero|nothing|enormous|one|two|three)"
    rf"|\bis\sprinted\sfor\b|\bends\swith\s{_NUMBER}|\bkommt\s(?:bei\sdir|heraus|da)\b.{{0,15}}(?:{_NUMBER}|"
    rf"null\b)|\byou\sfail\s(?:right\s)?(?:there|here|it|on|test)\b|\byou\s(?:even\s)?pass\s(?:that|this|"
    rf"it)\b"
    rf"|\b(?:it|which)\s(?:comes\sup\swith|comes\sout\sas|came\sout\sas)\s{_NUMBER}|\bout\s(?:come|"
    rf"came)\s{_NUMBER}|\bwhy\sdoes\sit\s(?:say|print|output|give)\s{_NUMBER}"
    rf"|(?:输出|得到|打印)(?:的是|了|是)?\s?{_NUMBER}.{{0,12}}(?:正确|应该|期望|答案|标准)",
)
_JUDGED = CaselessPattern(
    r"\b(?:the\s)?(?:judge|grader|server|verdict|report|checker)(?:[’']s)?\s(?:also\s)?(?:says?|said|"
    r"reports?|reported|gave|gives|is\sun?happy|rejects?|rejected|accepts?|accepted|returns?|returned|"
    r"complains?|is\s(?:TLE|WA|AC))\b"
    r"|\bwrong\sanswers?\b|\bpresentation\serror\b|(?:\A|[.!]\s|\b(?:was|is|it[’']s|got|been|still|"
    r"are)\s)(?:rejected|accepted)\b(?!\sby\b)"
    r"|\b(?:I|we)\s(?:just\s|have\s)?(?:ran|executed|submitted|used\sthe\srun|have\srun|tried\sit|fed)\b|"
    r"\bthe\srun\s(?:came|failed|says|said|shows)|\bsays?\sno\b"
    r"|\bfails?\son\sthe\sserver\b|\bfull\smarks\b|\bfalsche\santwort\b|\bmauvaise\sréponse\b|"
    r"\bréponse\sincorrecte\b|\brespuesta\s(?:incorrecta|equivocada)\b|答案错误|评测结果|提交结果",
)
_ANSWERED = CaselessPattern(
    r"\b(?:did|does|do|how|how\smany|is|was|want|would|what|shall)\b[^?\n]{0,60}\b(?:pass|passed|"
    r"finish\sin\stime|in\stime|result|run|right|it\sdo|judge\ssay|verdict|score|test|tests|"
    r"TLE)\b[^?\n]{0,30}\?"
    r"\s{1,2}[\"“]?(?:no\b|nope|yes\b|yep|just\b|only\b|none\b|not\seven|it\s(?:failed|passed|didn[’']t|"
    r"got)|wrong\sanswer|two\swrong|that[’']s\swhat|"
    r"(?:(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,3})(?:\s(?:of|out|wrong|"
    r"right|tests?|fine|and)\b|[,.])|the\sfirst\b))[^\n?]{0,200}",
)
"""A question about the result of a run, and its answer."""

_RIGHT_OR_WRONG = CaselessPattern(
    r"\b(?:not|isn[’']t|still|is|are|also|now|completely|again)\s{1,3}(?:\w{1,15}\s{1,3}){0,2}?(?:correct|"
    r"right|incorrect|wrong|working)\b"
    r"|\b(?:code|program|solution|it)\s{1,3}(?:now\s{1,3})?(?:works|does\s{1,3}not\s{1,3}work|"
    r"doesn[’']t\s{1,3}work)\b",
)
_POSSIBLE = CaselessPattern(
    r"\b(?:may|might|could|can|would|will|potentially|likely|probably|if|should|make\s{1,3}sure|suppose|"
    r"that\syou\sget|that\si\scan|whether|whatever|what|when|before|until|"
    r"könnte|kann|wenn|falls|würde|pourrait|peut|si|risque|puede|podría|quizás|"
    r"ever\stells)\b[^.!?\n]{0,40}\Z|(?:可能|如果|会不会|也许)[^。！？\n]{0,20}\Z",
)
_OPEN_QUESTION = CaselessPattern(
    r"\A\W{0,3}(?:what|how|which|when|where|does|do|is|are|can|could|will|would|why\s(?:might|could|would)|"
    r"was|wie|welche|kann|was|que|quel|comment|est-ce|qué|cuál|cómo|puede)\b",
)
_REPORTED = CaselessPattern(
    r"\byou\s(?:said|say\sthat|told|wrote|mentioned|report)\b|\b(?:that|which)\si\scan\b|\bin\smy\shead\b",
)
"""What the student said, and what no run has shown."""

_SAMPLE = CaselessPattern(r"\b(?:sample|example)s?\b")
_STATEMENT = CaselessPattern(r"\b(?:scoring|section|statement|subtasks?|limits?\ssay|printed\sabove)\b")

_ALWAYS = (
    PhrasePattern(_PASSED, "This tells which tests pass; only a run shows that.", 0.75, certain=True),
    PhrasePattern(_RATIO, "This tells how many tests pass; only a run shows that.", 0.75, certain=True),
    PhrasePattern(_LIMITS, "This reports an exceeded limit; only a run shows that.", 0.75, certain=True),
    PhrasePattern(
        _ABBREVIATIONS, "This reports an exceeded limit; only a run shows that.", 0.75, certain=True
    ),
    PhrasePattern(_ERRORS, "This reports an error of a run.", 0.6, certain=True),
    PhrasePattern(_OUTPUT, "This reports an output of a run.", 0.6),
    PhrasePattern(_JUDGED, "This reports a verdict of the judge.", 0.6),
)
_ONLY_UNDER_NOTHING = PhrasePattern(
    _RIGHT_OR_WRONG, "Under this protocol nothing is said about right and wrong.", 0.6
)


def find_verdict_leaks(text: str, context: MessageContext) -> list[Detection]:
    """Return phrases about test results, exceeded limits, errors, outputs and verdicts.

    If the tutor may say nothing about a verdict, also return phrases about right and wrong. Open questions and
    possibilities ("this may time out") are general directions, which are allowed.
    """
    patterns = (*_ALWAYS, _ONLY_UNDER_NOTHING) if context.tutor_may_say == "nothing" else _ALWAYS
    answered = [
        Detection("F5", match.start(), match.end(), "This answers a question about the result of a run.", 0.6)
        for match in _ANSWERED.finditer(text)
    ]
    return answered + [
        phrase.as_detection("F5")
        for phrase in phrases_in(text, patterns)
        if not _POSSIBLE.search(phrase.before)
        and not _is_no_report(phrase.sentence, phrase.question)
        and not (context.tutor_may_say == "samples" and _SAMPLE.search(phrase.text))
    ]


# A sentence can contain many phrases, and a search for each of them would take quadratic time.
@lru_cache(maxsize=16)
def _is_no_report(sentence: str, question: bool) -> bool:
    """Return whether the sentence asks openly, quotes the statement, or repeats the student's own report."""
    asks = question and _OPEN_QUESTION.search(sentence) is not None
    return asks or _STATEMENT.search(sentence) is not None or _REPORTED.search(sentence) is not None


DETECTOR = Detector(
    name="verdict-leak",
    version=3,
    clauses=("F5",),
    finds=(
        "tests passed, limits exceeded, errors, outputs and verdicts, in five languages; right and wrong if the "
        "protocol forbids it"
    ),
    ignores="open questions, possibilities (“may time out”)",
    find=find_verdict_leaks,
)
