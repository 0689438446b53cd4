"""Sentences around a place: the action that they name, in any language, and what they say not to do."""

from __future__ import annotations

import re

from grounding_rewards.actions import AT_A_PLACE, canonical, is_click, is_known
from grounding_rewards.parsing.objects import OPENAI
from grounding_rewards.parsing.patterns import either_case
from grounding_rewards.parsing.texts import SPACE, compiled, on_use

_BEFORE_PLACES = ("at", "on", "to", "in", "from")
NOUNS = frozenset({
    "point", "points", "position", "coordinate", "coordinates", "center", "centre", "location", "box", "bbox", "at",
    "is", "tuple", "xy", "x", "y", "target", "answer", "place", "pos", "image", "on", "to", "in", "near", "around",
})  # fmt: skip
_NO_NAME = re.compile("[^A-Za-z_.]")
_WORD = "[A-Za-z_]++"  # possessive: no part of a word is a name
_PHRASE = rf"(?:{_WORD}[ -])?{_WORD}"
_KEY = rf"(?:{either_case('action(?:s|[ _](?:type|name))?|function')})[\"'*]*{SPACE}[:=>][\"'`*]*{SPACE}[\"'`]?"
_PLACE = r"(?:[\"']?[(\[][(\[ \t]*-?[.0-9]|<[|a-z_]+>|\{[ \n]*[\"']|[xX][ \t]*[=:])"
_ALIASES = (
    rf"(?P<call>{_WORD})\((?P<ending>(?:s|es|ed)\))?",
    rf"{_KEY}(?P<named>{_PHRASE})(?P<prose>[ \t]+[A-Za-z])?",
    rf"(?:type|name|(?P<tool>{either_case('operation|command|tool')}))[\"'*]*{SPACE}[:=>][*]*{SPACE}[\"']?"
    rf"(?P<typed>{_PHRASE})",
    rf"""(?P<before>{_PHRASE})(?:["'],)?(?:[ \t]+(?:{"|".join(_BEFORE_PLACES)}))?(?:{SPACE}(?:[:=]|->))?"""
    rf"{SPACE}{_PLACE}",
    rf"<(?P<opens>{_WORD})>(?![^<>]*</)",
)

_SENTENCE_ACTION = either_case(
    "(?:double|triple|right|middle|long)[ -]?(?:click|tap|press)|scroll|swipe|drag|hover|type"
)
_SENTENCE_NEXT = either_case("up|down|left|right|over|on|at|the|this|that|it|an?|from")
_SENTENCE = on_use(
    rf"""(?<![A-Za-z_])(?:({_SENTENCE_ACTION})[ \t]+(?:(?:{_SENTENCE_NEXT})(?![A-Za-z])|["'“`])"""
    rf"""|(?P<typed>{either_case("enter|write")})[ \t]+["'“`]"""
    rf"""|(?P<move>{either_case("move")})[ \t]+(?:the|your)[ \t]+(?:mouse|cursor|pointer))[^.!?\n(\[{{<]*$"""
)
"""An action that a sentence tells to do, up to the place."""
_QUOTED = re.compile("""(?<![A-Za-z])["'“`«「][^"'”`»」]*(?:["'”`»」]|$)""")
_NEGATIONS = (
    "not", "n't", "n’t", "never", "avoid", "instead of", "rather than", "without", "refrain", "避免", "不", "别",
    "別", "勿",
)  # fmt: skip
"""Words, small, without one of which nothing is said not to be done."""
_PRESS = (
    f"(?:(?:{either_case('double|triple|left|right|middle|long')})[ -]?)?"
    f"(?:{either_case('click|tap|press|select|touch|typ|scroll|drag|swip|hover|choos')})"
)
_TOUCHED = "(?:double[ -]|right[ -])?(?:click|tapp|press|touch)ed"
_ASIDE = re.compile("[Ww]ithout|[A-Za-z ]*(?:typ|scroll|dragg|swip|hover)[a-z]*ing")
"""Actions that are left out on the way, which deny no place."""
_SUBJECT = rf"[ \t](?:I|we)(?:['’](?:ll|d|m|re)|[ \t](?:will|would|should|can|must|need|use|pick|{_PRESS}))(?![A-Za-z])"
"""Beginning of what is done instead, where no comma says so."""
_ORDER = on_use(f"(?<![A-Za-z]){_PRESS}(?=(?:e|[a-z]*ing)?(?![A-Za-z]))")
_DENIED = on_use(
    r"(?:(?:(?<!why )(?<!Why )(?<!did )(?<!does )(?<![a-z] Do )not|(?<!did)(?<!does)(?<![a-z] Do)n['’]t|[Nn]ever|NOT"
    rf"|NEVER|N['’]T)(?:\.[A-Za-z_]+|[ ]+(?:ever |use |(?:(?:going|want|need|have) )?to )?{_PRESS}e?"
    rf"|[ ]+(?:ever |to )?be {_TOUCHED})"
    rf"|(?:[Aa]void|[Ii]nstead of|[Rr]ather than|[Ww]ithout|[Rr]efrain from)[ ]+{_PRESS}(?:[a-z]*ing|e?))(?![A-Za-z])"
    r"(?:(?![ \t](?:but|and|or|then|except|instead|only|than|until|before|as|if|else|since|because|so)(?![A-Za-z]))"
    rf"(?!{_SUBJECT})[^.!?,;:\n(\[{{<>→])*(?::[ \t\n*`]*$)?"
    r"|(?:(?<![特分区區识識级級个個])[别別]|(?<!不[得能可])不|勿|避免)[要能应應该該可再去]*"
    r"(?:[点點] ?|(?:点击|點擊|单击|單擊)[^.!?,;:。，；\n(\[{<]*)(?::[ \t]*)?$"
)
"""An action that a sentence tells not to do, with its object."""
_OTHER = r"[^.!?,;:\n()\[\]{}<>]*$"
_CONTRAST = on_use(
    rf"(?:^|[)\]}}>])[\"'*`]*,?[ ](?:and |but )?(?:not|instead of|rather than)(?![A-Za-z]){_OTHER}"
    rf"|[)\]}}],而?不是{_OTHER}"
)
_CORRECTED, _BUT = on_use(rf"(?:(?:[Nn]ot|n['’]t)[ ]|不是){_OTHER}"), re.compile("[\"'*`]*(?:,? but |, ?而?是)")
_IN_PLACE_OF = on_use(rf"(?:^|[.!?,;:\n])[ ]*(?:[Ii]nstead of|[Rr]ather than)[ ]{_OTHER}")
_PASSIVE = on_use(
    r"(?:(?![ ](?:because|since|as|while|but|so|although|though|if)[ ])[^.!?,;:\n()])*?"
    rf"(?:not|n['’]t|never) (?:to )?be {_TOUCHED}(?![A-Za-z])"
)
_NOT_HERE = on_use(
    r"(?:(?<![Ww]hy )(?<!or )(?<!if )(?<![A-Za-z])[Nn]ot|n['’]t)(?: located| found)?(?: (?:at|on|in))?[ ]?$"
    "|(?<!是)不[是在][ ]?$"
)
_MORE = f"(?<!(?:{either_case('ble|ght|dle|ple|ong')})[ -])"  # a double click is more
_CLICKED = on_use(
    rf"(?<![A-Za-z])(?<!the ){_MORE}(?:{either_case('(?:left[ -])?(?:click(?:ing)?|tap(?:ping)?|select(?:ing)?)')})"
    "(?![A-Za-z])"
)
_LABEL = on_use(rf"""{_CLICKED.pattern}[^.!?\n(\[{{<"'“`]*["'“`]$""")
_PURPOSES = ("to type", "to enter", "to write", "to scroll")
_PURPOSE = on_use(
    rf"{_CLICKED.pattern}[^.!?,\n(\[{{<]*[ \t](?:{either_case('|'.join(_PURPOSES))})(?![A-Za-z])"
    r"[^.!?,\n(\[{<]*$"
)
"""An action that a click is for: click the box to type a name."""
_QUOTE = re.compile("""["'”`](?![A-Za-z])""")
"""Begin and end of a label that a click is on: click the "Type a message" field."""
_THEN_CLICK = on_use(rf"(?:[ \t]*(?:,|and|then|to)){{0,3}}[ \t]*{_CLICKED.pattern}")

_CLICK = on_use("click|klick|tipp|cli[cq]|toque|наж|щ[её]лк|клик|クリック|タップ|클릭|탭|[点點]|[单單轻][击擊]")
_FOREIGN_WORDS = {
    "double_click": "ダブル(?:クリック|タップ)|더블 ?(?:클릭|탭)|두 ?번 (?:클릭|탭)|双击|雙擊|[点點][击擊]两次"
    "|двойн(?:ой|ое|ым) (?:щ[её]лч|клик|наж)|дважды (?:щ[её]лк|клик|наж)|doppel(?:klick|tipp)|zweimal (?:klick|tipp)"
    "|double[ -]clic(?!k)|(?:de )?double[ -]cliqu|(?:cliquez|appuyez) deux fois|doble (?:clic|toque)"
    "|duplo (?:clique|toque)|(?:clique|toque) (?:duplo|duas vezes)",
    "right_click": "右クリック|우 ?클릭|오른쪽 (?:버튼으로 )?클릭|右[键鍵击擊](?:[点點单單][击擊])?"
    "|прав(?:ой кнопкой|ый клик|ый щелчок)|rechtsklick|rechten maustaste|clic droit|avec le bouton droit"
    "|cli(?:c|que) (?:derecho|direito)|con el botón derecho|com o botão direito",
    "long_press": "長押し|ロングタップ|길게 (?:누르|눌|탭|클릭|터치)|[长長]按(?!钮|鈕)|долг[а-я]+ наж|удержив"
    "|lange[srn]? (?:drücken|tippen)|gedrückt halten|appu(?:i|yez) (?:long|prolongé)|appuyez et maintenez"
    "|mant(?:én|enga) (?:pulsad|presionad)|(?:pulsación|toque|clic) larg[ao]|pression[ea]r? e segur|toque e segure"
    "|(?:toque|clique) longo|mantenha pressionad",
    **{kind: f"(?:^|[，；,;:]|[处處](?:进行)?)[ 我请先再将会要]*(?:{words})" for kind, words in (
        ("hover", "悬停|懸停"), ("swipe", "滑动|滑動"), ("scroll", "滚动|滾動"), ("drag", "拖动|拖動|拖拽"),
        ("type", "输入|輸入"),
    )},
    "no_action": "(?:ne (?:cliqu|appuy)[a-z]* pas|no (?:hagas?|hacer) (?:doble )?clic|nicht (?:klick|tipp)"
    "|n['’]appuy[a-z]* pas|no (?:toque|pulse|presione)s?|(?:klick|tipp)[a-z]*(?: sie)? nicht|não (?:clique|toque)"
    "|non (?:clicca|fare clic)|не (?:нажима|щ[её]лка|клика)|(?:クリック|タップ)しないで|클릭하지)"
    f"(?:(?!{_CLICK.pattern})[^,;、，])*$",
}  # fmt: skip
"""Words of other languages for actions, in small letters; those of Chinese that are no presses begin a clause."""
FOREIGN_STEMS = (
    "double", "doppel", "zweimal", "doble", "duplo", "duas", "deux", "rechts", "rechte", "droit", "derecho", "direito",
    "ne cliqu", "no haga", "no toque", "no puls", "no presi", "nicht", "não", "non clicc",
    "lange", "longo", "larga", "largo", "gedr", "appu", "mantén", "mante", "press", "segu",
)  # fmt: skip
"""Parts of those in Latin letters; a text in these letters that has none of them has none of the words."""
_FOREIGN = on_use(
    f"(?<! d[aeou] )(?<! for )(?:{'|'.join(_FOREIGN_WORDS.values())})"
    "(?![ -]?(?:men[uüú]|geschw|メニュー|메뉴|меню|菜单|選單|[框条栏块法速]))"
)
_LABELLED = on_use(
    "(?:(?:klick|tipp)[a-z]*(?: sie)? auf|(?:cliquez|appuyez) sur|cli[ck] en|(?:clique|toque) (?:em|n[ao])|наж[а-я]+ на"
    "|щ[её]лк[а-я]+ по|[点點单單][击擊])(?:(?! (?:und|dann|et|puis|y|e|и|затем) )[^,;，；、并並后後再])*$"
)
_LATIN_NAME = re.compile("(?<=[a-zé] )(?:Double-[Cc]lic|Clic [Dd]roit|Doble [Cc]lic|Clic [Dd]erecho)(?! sur| en)")
_SENTENCE_END, _CLAUSE_END = re.compile(r"[.!?。\n(\[{<]"), re.compile(r"[.!?。\n(\[{<,;，；、]")


def foreign_action(front: str, behind: str) -> str:
    """Return the action that a sentence in another language names, before its place or behind; "" of none.

    A plain click between the word and the place is what is meant, and so is one before a word behind the place, and
    one on what has the word in its name.
    """
    said = f"{front}\n{behind}".lower()
    if said.isascii() and not any(map(said.__contains__, FOREIGN_STEMS)):
        return ""
    front, behind = _LATIN_NAME.sub("", front).lower(), behind.lower()
    before, meant = "", _QUOTED.sub("", _SENTENCE_END.split(front)[-1])
    if press := _FOREIGN.search(meant):
        before, meant = meant[: press.start()], meant[press.end() :]
    elif press := _FOREIGN.search(clause := _CLAUSE_END.split(behind, maxsplit=1)[0]):
        meant += clause[: press.start()]
    if press is None or _CLICK.search(meant):
        return ""
    kind = next(kind for kind, words in _FOREIGN_WORDS.items() if compiled(words).fullmatch(press[0]))
    return "" if kind != "right_click" and _LABELLED.search(before) else kind  # "with the right button" tells how


# Look-behind, which RE2 lacks: of "a(b(" both names match, where a consumed character would hide the second.
_ALIAS_NAMES = on_use(rf"(?<![A-Za-z_])(?:{'|'.join(_ALIASES)})")
_CAMEL = re.compile("[a-z][A-Z]")


def asked_in(front: str, near: str, behind: str) -> str | None:
    """Return the text in front of a place without what it says not to do; None where that is what has the place.

    The last verb governs a place; but where another one comes before it, as in "Choose No, don't touch my files", that
    is what to do. Of two sides of a contrast, as in "(5, 6), not (7, 8)", one is not to be done.
    """
    if not any(map((front + near).lower().__contains__, _NEGATIONS)):
        return front
    sentence = _QUOTED.sub("", front) + _NO_NAME.split(near, maxsplit=1)[0]
    denied = [*_DENIED.finditer(sentence)]
    last = denied[-1][0] if denied and denied[-1].end() == len(sentence) else ""
    last = "" if _ASIDE.match(last) else last
    if _NOT_HERE.search(sentence) and not _BUT.match(behind):
        return None
    if not last and (_CONTRAST.search(sentence) or (_CORRECTED.search(sentence) and _BUT.match(behind))):
        return None
    asked = _DENIED.sub(", ", sentence) if denied else sentence
    if last or _IN_PLACE_OF.search(asked) or _PASSIVE.match(behind):
        orders = _ORDER.findall(_DENIED.sub("", _SENTENCE_END.split(sentence)[-1]).lower())
        if {*orders} <= {*_ORDER.findall(last.lower())}:
            return None
    return _DENIED.sub(", ", front) if denied else front


def action_in(front: str, near: str, behind: str) -> str | None:
    """Return the action that a sentence in front of a place names; "" of none, None of one that needs more."""
    if any(map(front.lower().__contains__, _PURPOSES)) and _PURPOSE.search(front):
        return ""
    verb = _SENTENCE.search(front)  # "Double-click the icon at (5, 6)"
    if verb and not (_LABEL.search(front, 0, verb.start()) and _QUOTE.search(verb[0])):
        leads = verb["typed"] or verb["move"]  # to a click, where the sentence goes on to one
        clicked = leads and _CLICKED.search(_QUOTED.sub("", verb[0]))
        clicked = clicked or (verb["move"] and _THEN_CLICK.match(behind))
        return "" if clicked else next(filter(None, verb.groups()))
    named = _ALIAS_NAMES.finditer(front + near)
    kinds = {kind: match["call"] or match["opens"] for match in named if (kind := _kind(match))}
    if kinds.keys() <= {"click"}:
        return ""
    (kind, opens), *others = kinds.items()
    alone = not (others or opens) and (kind == "hover" or is_click(kind))  # the others need more than a place
    return kind if alone else None


def _kind(match: re.Match[str]) -> str:
    """Return the named action in the vocabulary's words; "" if there is none."""
    if match["call"]:
        return "" if match["ending"] else known(match["call"])  # "tap(s)" is prose
    if match["opens"]:
        kind = known(match["opens"])
        return kind if _is_sure(match["opens"], kind) else ""
    words = match["typed"] or match["named"] or match["before"]
    first, _, last = words.replace("-", " ").partition(" ")
    kind = known(f"{first}_{last}") if last else ""
    if match["typed"]:
        sole = match["tool"] or last in ("", *_BEFORE_PLACES)  # "name: scroll bar" is no action's
        kind = kind or (known(first) if sole else "")
        return kind if first in OPENAI or kind in AT_A_PLACE else ""
    if kind:
        return kind
    if match["named"]:
        kind = known(first)
        return kind if not (last or match["prose"]) or _is_sure(first, kind) else ""
    word = first if last in _BEFORE_PLACES else last or first
    kind = "" if word.lower() in NOUNS else known(word)
    return kind if _is_sure(word, kind) else ""


def known(word: str) -> str:
    """Return the vocabulary's name of a word that names an action; "" of another, and of "at" and the like."""
    return canonical(word) if is_known(word) and word not in _BEFORE_PLACES else ""


def _is_sure(word: str, kind: str) -> bool:
    """Return True if a word before others means the action."""
    return kind in AT_A_PLACE or word.lower() == "type" or "_" in word or bool(_CAMEL.search(word))
