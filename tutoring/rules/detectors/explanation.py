"""Detector of explanations of the problem or of the model's misunderstanding (F3)."""

from __future__ import annotations

from itertools import pairwise

from tutoring.rules.caseless import CaselessPattern
from tutoring.rules.detection import Detection, Detector, MessageContext
from tutoring.rules.phrases import PhrasePattern, phrases_in_statements
from tutoring.rules.reading import background_of, story_words
from tutoring.rules.texts import TextSpan, is_question, sentences

_OPPOSITES = """
minimum/maximum minimal/maximal minimize/maximize minimise/maximise least/most smallest/largest smaller/larger
shortest/longest lowest/highest fewest/most first/last increasing/decreasing ascending/descending inclusive/exclusive
rows/columns left/right before/after total/maximum contiguous/arbitrary directed/undirected sum/maximum sum/product
number/sum distinct/different count/sum
kleinste/größte wenigsten/meisten anzahl/summe plus/moins nombre/somme mínimo/máximo cantidad/suma menor/mayor
"""
_CONTRAST = CaselessPattern(
    "|".join(
        rf"\b{one}\b[^.!?\n]{{0,80}},?\s{{1,3}}(?:and\s{{1,3}}|und\s|et\s|y\s)?(?:not|rather\s{{1,3}}than|"
        rf"instead\s{{1,3}}of|nicht|statt|non|pas|no|en\slugar\sdel?)\s{{1,3}}"
        rf"(?:the\s{{1,3}}|in\s{{1,3}}|die\s|das\s|der\s|la\s|le\s|el\s)?{other}\b"
        for pair in (words.split("/") for words in _OPPOSITES.split())
        for one, other in (pair, pair[::-1])
    ),
)
_MISUNDERSTOOD = CaselessPattern(
    r"\byou(?:[’']re|[’']ve)?\s{1,3}(?:\w{1,12}\s{1,3}){0,3}?"
    r"(?:misunderst(?:and|ood|anding)|misread(?:ing)?|misinterpret(?:ed|ing)?|overlook(?:ed|ing)?|"
    r"got\sthe\s(?:task|problem)\swrong)\b"
    r"|\byour\s{1,3}(?:misunderstanding|misconception)\s{1,3}(?:is|lies)\b|\bwhat\syou\s(?:overlook|forget|"
    r"miss|ignore)\b"
    r"|\byou\s(?:forget|forgot|are\sforgetting|ignore|neglect|disregard|leave\sout)\s(?!about\s(?:it|"
    r"that)\b)(?:that|the|to|what|how|about|some|a|an|each|every)\b|\byou[’']re\sforgetting\b"
    r"|\bdu\s(?:vergisst|übersiehst|ignorierst|verwechselst|missverstehst|hast\s(?:übersehen|vergessen|"
    r"missverstanden|falsch\sverstanden))\b|\bdas\shast\sdu\s(?:übersehen|vergessen)|"
    r"\blässt\sdu\saußer\sacht\b"
    r"|\btu\s(?:oublies|ignores|négliges|confonds|as\s(?:oublié|mal\s(?:compris|lu))|ne\stiens\spas\scompte|"
    r"ne\sprends\spas\sen\scompte)\b"
    r"|\b(?:olvidas|ignoras|confundes|no\stienes\sen\scuenta|has\solvidado|entendiste\smal|malinterpretas|"
    r"pasas\spor\salto)\b|你(?:忘|忽略|漏|误解|理解错|看错|搞错|没有?考虑)",
)
_ASKS = CaselessPattern(
    r"\b(?:the|this)\s{1,3}(?:problem|statement|task|question|story|"
    r"output\ssection)\s{1,3}(?:\w{1,12}\s{1,3}){0,2}?"
    r"(?:asks|wants|means|requires|specifies|is\s{1,3}asking|is\sto|is\sabout|measures|only\sasks)\b"
    r"|\b(?:we|they)(?:[’']re)?\s{1,3}(?:\w{1,12}\s{1,3})?(?:want|need|ask|look|are\s{1,3}looking|asking|"
    r"are\s{1,3}asked|are\s{1,3}asking)\s{1,3}(?:for\s)?"
    r"(?:to\s{1,3}(?:compute|count|minimi[sz]e|maximi[sz]e)|(?:to\s{1,3}find\s{1,3})?the\s{1,3}|as\s(?:few|"
    r"many)\b|about\b|us\b)"
    r"|\bthey[’']re\sreally\sasking\b|\bthey\s(?:ask|want)\b|\b(?:what\sis|what[’']s|isn[’']t|is|are|"
    r"not)\s(?:really\s|actually\s)?asked(?:\sfor|\sis)?\b|\bwhat\scounts\sis\b|\ball\sthat\s(?:matters|"
    r"counts)\b|\bit[’']s\sthe\s.{3,40}\sthat\s(?:counts|matters|must|decides)\b"
    r"|\bin\sother\swords\b|\bput\s(?:differently|another\sway)\b|\bto\s(?:say\sit|put\sit)\s(?:differently|"
    r"another\sway)\b|\bbasically\s(?:you|we|they)\s(?:have|need|want|are|must)\b|\bboils\sdown\sto\b|\bcomes\sdown\sto\b|"
    r"\bin\sshort\b|\bthat[’']s\swhat\b.{1,40}\bmeans\b"
    r"|\b(?:gesucht|gefragt|verlangt)\s(?:ist|sind|wird)\b|\bist\s(?:aber\s)?(?:gar\s)?nicht\sverlangt\b|"
    r"\bmit\sanderen\sworten\b|\banders\s(?:gesagt|ausgedrückt)\b|\bdie\saufgabe\s(?:fragt|verlangt|will)\b|"
    r"\bes\skommt\s(?:nur\s)?(?:darauf|auf)\b"
    r"|\bon\s(?:te\s)?demande\b|\b(?:l[’']énoncé|le\sproblème)\s(?:demande|veut)\b|\bautrement\sdit\b|"
    r"\ben\sd[’']autres\s(?:termes|mots)\b|\bil\ss[’']agit\sde\b|\bseule?\s.{2,25}\scompte\b"
    r"|\bse\s(?:pide|piden|busca|buscan)\b|\b(?:el\s(?:enunciado|problema))\s(?:pide|quiere)\b|"
    r"\ben\sotras\spalabras\b|\bdicho\sde\sotr[ao]\b|\bsolo\simporta\b|题目(?:要的?是|要求|问的?是|想)|换句话说|也就是说|要求的是|"
    r"只有.{1,12}才(?:重要|算)",
)
_READING_REQUEST = CaselessPattern(
    r"\b(?:what|where|how|whether|again|understand|why|that|who|if|which|was|wie|que|qué|comment|"
    r"cómo)\s{1,3}(?:\w{1,12}\s{1,3}){0,2}\Z",
)
_REMINDED = CaselessPattern(
    r"(?:\A|[,;:–—-]\s{0,2})\s{0,3}(?:please\s|but\s|and\s)?(?:recall|remember|note|keep\sin\smind|"
    r"bear\sin\smind|don[’']t\sforget|mind|be\saware)(?:,?\sthat(?!\s(?:this|your|the)\s(?:code|program))|,|\sthere[’']s|\sthere\sis)\b"
    r"|\A\s{0,3}(?:recall|remember)\s(?:only|both|each|every|all|no)\b|,\s?remember[,.!]|\Aremember[,:]|"
    r"\b(?:bedenke?|denk(?:e)?\sdaran|beachte|vergiss\snicht)\b,?\s|\b(?:rappelle-toi|souviens-toi|"
    r"n[’']oublie\spas)\s(?:que|qu[’'])|\b(?:recuerda|no\solvides|ten\sen\scuenta|fíjate\sen)\sque\b|(?:注意|"
    r"别忘了|请记得|记住，).{2,}",
)
_BELIEF = CaselessPattern(
    r"\b(?:you|your\s(?:program|code|solution|version|approach|method|check))(?:[’']ve|"
    r"[’']re)?\s(?:\w{1,10}\s){0,2}?(?:think|thinks|believe|assume[sd]?|assuming|suppose|seem|treat|treats|"
    r"treating|let|lets|letting|take|takes|taken|consider|want\sto|pretend|charge|allow|allows|"
    r"give|gives|mix|compute|are\scomputing|count|counts|maximi[sz]e|minimi[sz]e|solve|are\ssolving|read|"
    r"print|believes|use\sup|makes?|lose|look\sat)\b|\bin\syour\seyes\b|\bwith\syour\b|\byou\s(?:only|"
    r"always|never)\s\w"
    r"|\bdu\s(?:denkst|glaubst|meinst|gehst|nimmst|behandelst|lässt|willst|zählst|berechnest|hältst)\b|"
    r"\bdein\s(?:programm|code)\s(?:setzt|nimmt|lässt|geht|zählt|behandelt)\b|\bmit\sdeinen?\b"
    r"|\btu\s(?:penses|crois|supposes|traites|considères|comptes|calcules|laisses|veux|ajoutes|prends|"
    r"fais\scomme)\b|\bton\s(?:programme|code)\s(?:suppose|compte|laisse)"
    r"|\b(?:crees|piensas|supones|asumes|tratas|cuentas|calculas|dejas|quieres|pierdes|ocupas)\b|"
    r"\btu\s(?:programa|código)\s(?:supone|asume|cuenta)|你(?:以为|认为|觉得|假设|把|算的是|让|当成|的程序(?:假设|把))",
)
_REALITY = CaselessPattern(
    r"\b(?:but|although|though|whereas|while|however|actually|really|in\s(?:fact|reality|truth)|(?:it|they|"
    r"she|he|that)\s(?:isn[’']t|doesn[’']t|don[’']t|aren[’']t|can[’']t|cannot)|she\scan[’']t|not\sallowed|"
    r"nothing\sin\sthe\sstatement|that[’']s\snot|which\s(?:is|isn[’']t)|instead|"
    r"too\s(?:many|much|few)|only\sone|separate|needs?\stime|may\s(?:not|skip|change)|must\s(?:not|get|be|"
    r"begin|start)|is\sstored|they\sask|are\slost|since|more\sthan\snecessary)\b"
    r"|\b(?:aber|sondern|in\swirklichkeit|tatsächlich|obwohl|das\sstimmt\snicht|doch|dabei)\b|\b(?:mais|"
    r"en\sréalité|en\sfait|alors\sque|or|pourtant|en\strop)\b|\b(?:pero|en\srealidad|sino|aunque|porque|"
    r"y\sdespués)\b|其实|实际上|但是?|可是|而|不是|只能|只",
)
_WRONG_READING = CaselessPattern(
    r"\b(?:so|therefore|hence|thus|deshalb|daher|donc|así\sque|"
    r"por\slo\stanto)\b[^.?!\n]{0,80}\b(?:incorrect|wrong|not\scorrect|isn[’']t\scorrect|"
    r"can[’']t\sbe\sright|one\swalk\stoo\smany|too\s(?:many|much)|falsch|faux|fausse|incorrect[ao]|mal)\b"
    r"|\bwhich\sis\s(?:incorrect|wrong|not)\b|\b(?:program|code)\sis\swrong\sto\b|"
    r"\bone\s.{2,30}\stoo\s(?:many|much|few)\b|\b(?:counts?|add)\s.{2,50}\stoo\s(?:many|much)\b|"
    r"\bcounts?\s.{2,30}\stwice\b|\ben\strop\b"
    r"|\b(?:doesn[’']t|don[’']t|do\snot|does\snot)\s(?:count|matter|have\sto|need\sto)\b|\bnobody\s\w+s\b|"
    r"\bcan[’']t\sbe\s(?:divided|shared|moved|used|split)\b|所以.{2,30}(?:错|不对|不能)",
)
_NEGATIVE_QUESTION = CaselessPattern(
    r"(?:\A|[,:;]\s|\b(?:so|and|but|hm|well|then)[,\s]\s?)(?:isn[’']t|aren[’']t|doesn[’']t|don[’']t|"
    r"can[’']t|shouldn[’']t|mustn[’']t|hasn[’']t|haven[’']t|won[’']t|wasn[’']t)\s(?!we\b|you\b|it\sbe\b|"
    r"there\sa\s(?:better|way)|your\b|i\b|that\b|this\b)"
    r"|,\s(?:is|does|do|can|are|isn[’']t|doesn[’']t|don[’']t|can[’']t|aren[’']t|should|must|will|has|"
    r"may)\s(?:it|they|she|he|there|one|we)\?\W{0,3}\Z"
    r"|\A\W{0,3}(?:muss|müssen|darf|dürfen|ist|sind|gilt|gelten|kann|können|soll|sollte|braucht|kommt|"
    r"bleibt)\b.{2,60}\bnicht\b|\bn[’']?(?:est|a|peut|doit|faut|sont)-\w{1,6}\spas\b|\bne\s(?:doit|peut|"
    r"faut|devrait|reste|demande)-?\w{0,6}\spas\b"
    r"|\A\W{0,3}¿?no\s(?:pide|debe|deben|es|son|tiene|tienen|puede|pueden|hay|cuenta|se)\b|不是(?!吗).{2,30}吗|"
    r"难道|不应该.{2,30}吗|不需要.{2,30}吗",
)
_SELF_ANSWERED = CaselessPattern(
    r"\A\W{0,3}(?:(?:and|but|so)\s)?(?:is|are|does|do|can|may|must|should|has|will|darf|muss|kann|ist|peut|"
    r"doit|est-ce|puede|debe|es)\b[^?]{5,120}\?\s{1,2}(?:no\b|nope|it\sdoes(?:n[’']t)\b|she\s(?:does|is|can|"
    r"may)(?:n[’']t|\snot)|they\s(?:do|don[’']t)|according\sto|of\scourse\snot|not\sat\sall|nein\b|non\b|"
    r"no,)",
)

_PATTERNS = (
    PhrasePattern(
        _MISUNDERSTOOD, "This tells the model that, or what, it has misunderstood.", 0.6, certain=True
    ),
    PhrasePattern(_ASKS, "This explains what the problem asks.", 0.55),
    PhrasePattern(_CONTRAST, "This sets what the problem asks against what the model understood.", 0.75),
    PhrasePattern(_REMINDED, "This reminds the model of a rule of the problem.", 0.55),
)
_BENIGN = CaselessPattern(
    r"\b(?:tell\sme|explain|describe|in\syour\sown\swords|what\sdo\syou|how\sdo\syou|read\b|reread|write\b|"
    r"sentence|paragraph|by\shand|on\spaper|i\s(?:think|believe|guess|see|like)|may\sbe\stoo\sslow|"
    r"ask\syourself|"
    r"limits?\b|statement[’']s|permutations|numbers\sinto|right\sdirection|sag\smir|erklär|beschreib|"
    r"explique|explica|describe)\b|请|说说|解释",
)


def find_explanations(text: str, context: MessageContext) -> list[Detection]:
    """Return phrases that explain the problem or the misunderstanding, and questions that contain such a phrase.

    Open questions, and requests to read or explain, are allowed: they only probe.
    """
    found = [
        phrase.as_detection("F3")
        for phrase in phrases_in_statements(text, _PATTERNS)
        if not _READING_REQUEST.search(phrase.before[-40:])
    ]
    background = background_of(context)
    pieces = [*sentences(text)]
    for one, two in pairwise([*pieces, TextSpan("", len(text), len(text))]):
        body = one.text.strip()
        if _BENIGN.search(body) or story_words(body, background) < 1:
            continue
        start, end = one.start + len(one.text) - len(one.text.lstrip()), one.end
        if is_question(body):
            if _NEGATIVE_QUESTION.search(body) and story_words(body, background) > 1:
                found.append(Detection("F3", start, end, "This question holds a rule of the problem.", 0.55))
            elif _SELF_ANSWERED.search(text[start : start + len(body) + 30]):
                found.append(
                    Detection("F3", start, end, "This question about a rule is answered at once.", 0.55)
                )
        elif _WRONG_READING.search(body):
            found.append(Detection("F3", start, end, "This gives a rule as the reason of the mistake.", 0.55))
        elif _BELIEF.search(body) and _REALITY.search(
            body + " " + ("" if is_question(two.text) else two.text)
        ):
            found.append(
                Detection("F3", start, end, "This corrects what the model believes of the problem.", 0.55)
            )
    return found


DETECTOR = Detector(
    name="explanation",
    version=2,
    clauses=("F3",),
    finds=(
        "“you misunderstand …”, “you think …, but really …”, “the problem asks …”, “recall that …”, questions that "
        "hold a rule of the problem, in five languages"
    ),
    ignores="open questions; requests to read, to explain or to compute",
    find=find_explanations,
)
