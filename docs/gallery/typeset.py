"""Formulas of recipes and verifiers, which are lines of plain text, as LaTeX."""

from __future__ import annotations

import re

_SIGNS = {
    "·": r"\cdot ", ">=": r"\ge ", "<=": r"\le ", "||": r"\Vert ", "∩": r"\cap ", "∪": r"\cup ", "½": r"\tfrac{1}{2}",
    "²": "^2", "³": "^3", "..": r"\ldots ", "{": r"\{", "}": r"\}", "Σ": r"\sum ", "∫": r"\int ", "α": r"\alpha ",
    "β": r"\beta ", "γ": r"\gamma ", "λ": r"\lambda ", "σ": r"\sigma ",
}  # fmt: skip
_WORD = (
    r"(?!(?:exp|max|min|sqrt)\(|[cd][xy]\b|dmax\b|[A-Za-z]_)"
    r"(?:a\b|[A-Za-z][A-Za-z\d_]+|[A-Za-z](?=-[a-z]))(?:['-][a-z]+)*'?"
)
_TOKEN = re.compile(
    rf"(?P<words> ?{_WORD}(?: {_WORD})* ?)"
    r"|(?P<function>exp|max|min)(?=\()"
    r"|sqrt\((?P<root>[^()]*)\)"
    r"|(?P<letter>[A-Za-zα-ωΣ∫])_?(?P<below>(?<=_)\w+|(?<=d)max\b|(?<=[cdσ])[xy](?![a-z]))?"
    r"|(?P<sign>>=|<=|\|\||\.\.|[·∩∪½²³{}])"
)
_OPERATORS = "·=+-/<>∩∪"
_BRACKETS = r"(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[.*?\]|[^(),:])"
_FORMULA = re.compile(rf"([A-Z][^:()]*: )?((?:exp|min|max|{_BRACKETS})*?)(?:, |: | (?=where |inside |with )|\.?$)")


def latex(text: str) -> str:
    r"""Return the lines of a formula as LaTeX, one below the other at their signs of equality.

    >>> print(latex("total = hit + v_max / (dx)²"))
    \begin{aligned}
    \text{total}&=\text{hit}+ v_{\text{max}} / (d_{x})^2
    \end{aligned}
    """
    lines = [re.sub(" +", " ", _TOKEN.sub(_symbol, line)) for line in text.splitlines()]
    lines = [line.replace("=", "&=", 1) if re.match("[^,]*=", line) else f"&{line}" for line in lines]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def split(sentence: str) -> tuple[str, str, str]:
    """Return a sentence as the words before its formula, the formula, and the words after; no formula: all before.

    >>> split("Mean of both: k / (n + m), with k the matches.")
    ('Mean of both:', 'k / (n + m)', 'with k the matches.')
    >>> split("1.0 where the text is right, else 0.0.")
    ('1.0 where the text is right, else 0.0.', '', '')
    """
    found = _FORMULA.match(sentence)
    if not found or not re.search(" [-·/] ", found[2]) or re.search(r"[a-z]+ [a-z]+ [a-z]+", found[2]):
        return sentence, "", ""
    return (found[1] or "").strip(), found[2], sentence[found.end() :]


def _symbol(token: re.Match[str]) -> str:
    if token["words"]:
        before, after = token.string[: token.start()], token.string[token.end() :]
        words = token["words"].lstrip() if not before or before[-1] in _OPERATORS else token["words"]
        words = words.rstrip() if not after or after[0] in _OPERATORS else words
        return rf"\text{{{words}}}".replace("_", r"}\_\text{")
    if token["root"]:
        return rf"\sqrt{{{_TOKEN.sub(_symbol, token['root'])}}}"
    if token["function"]:
        return "\\" + token["function"]
    letter = _SIGNS.get(token["letter"] or token["sign"], token["letter"])
    if not token["below"]:
        return letter
    below = token["below"] if len(token["below"]) == 1 else rf"\text{{{token['below']}}}"
    return f"{letter.strip()}_{{{below}}}"
