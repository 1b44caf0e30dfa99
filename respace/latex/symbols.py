"""What LaTeX's symbol commands look like to a reader, and how each kind of symbol is spaced in a formula.

Kinds: ``bin`` and ``rel`` (binary operators and relations), ``bar`` (a vertical bar, which may be either), ``arrow``,
``open``, ``close``, ``punct``, ``function`` (an operator's name, such as log), ``ord`` (everything else).
"""

from __future__ import annotations

import unicodedata


def names(text: str) -> frozenset[str]:
    """A set of names, written as one text."""
    return frozenset(text.split())


def _table(kind: str, pairs: str) -> dict[str, tuple[str, str]]:
    words = pairs.split()
    return {name: (kind, symbol) for name, symbol in zip(words[::2], words[1::2], strict=True)}


# The glyphs are those that pdftotext reads from a PDF set in the usual fonts (\phi is φ and \varphi ϕ).
MATH_SYMBOLS: dict[str, tuple[str, str]] = {
    **_table(
        "ord",
        """alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ
        varkappa ϰ lambda λ mu μ nu ν xi ξ omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ
        phi φ varphi ϕ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ
        Omega Ω varGamma Γ varDelta Δ varTheta Θ varLambda Λ varXi Ξ varPi Π varSigma Σ varPhi Φ varPsi Ψ varOmega Ω
        infty ∞ partial ∂ nabla ∇ forall ∀ exists ∃ nexists ∄ emptyset ∅ varnothing ∅ ell ℓ hbar ℏ hslash ℏ Re ℜ Im ℑ
        aleph ℵ beth ℶ wp ℘ imath ı jmath ȷ prime ′ backprime ‵ angle ∠ measuredangle ∡ triangle △ square □ Box □
        blacksquare ■ Diamond ◇ diamondsuit ♢ heartsuit ♡ clubsuit ♣ spadesuit ♠ bigstar ★ lozenge ◊ flat ♭ natural ♮
        sharp ♯ surd √ top ⊤ bot ⊥ neg ¬ lnot ¬ degree ° S § P ¶ checkmark ✓ complement ∁ mho ℧ eth ð Finv Ⅎ
        sum ∑ prod ∏ coprod ∐ int ∫ iint ∬ iiint ∭ oint ∮ bigcup ⋃ bigcap ⋂ bigoplus ⨁ bigotimes ⨂ bigodot ⨀
        bigvee ⋁ bigwedge ⋀ bigsqcup ⨆ biguplus ⨄ copyright © pounds £ dag † ddag ‡ AA Å aa å ss ß o ø O Ø ae æ
        i i j j LaTeX LaTeX TeX TeX lq ‘ rq ’ textdegree ° texttimes × textunderscore _ & & # # % % $ $
        _ _ vdots ⋮ ddots ⋱ dotsb ··· cdots ··· dotsm ··· dotsi ··· ulcorner ⌜ urcorner ⌝ llcorner ⌞ lrcorner ⌟""",
    ),
    **_table(
        "bin",
        """pm ± mp ∓ times × div ÷ cdot · ast ∗ star ⋆ circ ◦ bullet • cap ∩ cup ∪ uplus ⊎ sqcap ⊓ sqcup ⊔ vee ∨ lor ∨
        wedge ∧ land ∧ setminus ∖ smallsetminus ∖ wr ≀ diamond ⋄ oplus ⊕ ominus ⊖ otimes ⊗ oslash ⊘ odot ⊙ dagger †
        ddagger ‡ amalg ⨿ boxplus ⊞ boxtimes ⊠ ltimes ⋉ rtimes ⋊ centerdot · bigtriangleup △ bigtriangledown ▽
        triangleright ▷ triangleleft ◁ lhd ⊲ rhd ⊳ unlhd ⊴ unrhd ⊵ veebar ⊻ barwedge ⊼ curlyvee ⋎ curlywedge ⋏
        circledast ⊛ circledcirc ⊚ intercal ⊺ dotplus ∔ bigcirc ◯""",
    ),
    **_table(
        "rel",
        """leq ≤ le ≤ leqslant ⩽ leqq ≦ geq ≥ ge ≥ geqslant ⩾ geqq ≧ ll ≪ gg ≫ lll ⋘ ggg ⋙ prec ≺ succ ≻ preceq ⪯
        succeq ⪰ sim ∼ simeq ≃ approx ≈ approxeq ≊ cong ≅ equiv ≡ doteq ≐ triangleq ≜ propto ∝ asymp ≍ neq ≠ ne ≠
        in ∈ ni ∋ owns ∋ notin ∉ subset ⊂ supset ⊃ subseteq ⊆ supseteq ⊇ subsetneq ⊊ supsetneq ⊋ nsubseteq ⊈ nsupseteq ⊉
        subseteqq ⫅ supseteqq ⫆ subsetneqq ⫋ Subset ⋐ Supset ⋑ sqsubset ⊏ sqsubseteq ⊑ sqsupset ⊐ sqsupseteq ⊒
        vdash ⊢ dashv ⊣ models ⊨ vDash ⊨ Vdash ⊩ nvdash ⊬ nvDash ⊭ Vvdash ⊪ perp ⊥ parallel ∥ nparallel ∦ nmid ∤
        smile ⌣ frown ⌢ bowtie ⋈ lesssim ≲ gtrsim ≳ lessgtr ≶ gtrless ≷ lessapprox ⪅ gtrapprox ⪆ lt < gt >
        coloneqq := coloneq := eqqcolon =: defeq := eqdef =: vcentcolon : nless ≮ ngtr ≯ nleq ≰ ngeq ≱ nsim ≁ ncong ≇
        precsim ≾ succsim ≿ trianglelefteq ⊴ trianglerighteq ⊵ vartriangleleft ⊲ vartriangleright ⊳ ntriangleleft ⋪
        preccurlyeq ≼ succcurlyeq ≽ backsim ∽ bumpeq ≏ therefore ∴ because ∵ between ≬ pitchfork ⋔ approxident ≋
        leqslantgtr ⋚ lesseqgtr ⋚ gtreqless ⋛ lneq ⪇ gneq ⪈ lneqq ≨ gneqq ≩ precneqq ⪵ varpropto ∝ thicksim ∼
        thickapprox ≈ shortmid ∣ shortparallel ∥""",
    ),
    **_table("bar", "| ‖ mid | vert | Vert ‖ divides | lvert | rvert | lVert ‖ rVert ‖"),
    **_table(
        "arrow",
        """to → rightarrow → longrightarrow → leftarrow ← gets ← longleftarrow ← leftrightarrow ↔ longleftrightarrow ↔
        Rightarrow ⇒ Longrightarrow ⇒ implies ⇒ Leftarrow ⇐ Longleftarrow ⇐ impliedby ⇐ Leftrightarrow ⇔
        Longleftrightarrow ⇔ iff ⇔ mapsto ↦ longmapsto ↦ hookrightarrow ↪ hookleftarrow ↩ uparrow ↑ downarrow ↓
        updownarrow ↕ Uparrow ⇑ Downarrow ⇓ nearrow ↗ searrow ↘ swarrow ↙ nwarrow ↖ rightharpoonup ⇀
        rightharpoondown ⇁ leftharpoonup ↼ leftharpoondown ↽ rightleftharpoons ⇌ leftrightharpoons ⇋ twoheadrightarrow ↠
        twoheadleftarrow ↞ rightarrowtail ↣ leftarrowtail ↢ leadsto ⇝ rightsquigarrow ⇝ dashrightarrow ⇢
        dashleftarrow ⇠ rightrightarrows ⇉ leftleftarrows ⇇ rightleftarrows ⇄ leftrightarrows ⇆ nrightarrow ↛
        nRightarrow ⇏ nleftarrow ↚ nLeftarrow ⇍ nLeftrightarrow ⇎ upharpoonright ↾ restriction ↾ multimap ⊸
        circlearrowleft ↺ circlearrowright ↻ curvearrowright ↷ curvearrowleft ↶ leftrightsquigarrow ↭ Rrightarrow ⇛""",
    ),
    **_table("open", "{ { lbrace { lbrack [ langle ⟨ lfloor ⌊ lceil ⌈ lgroup ( llbracket ⟦"),
    **_table("close", "} } rbrace } rbrack ] rangle ⟩ rfloor ⌋ rceil ⌉ rgroup ) rrbracket ⟧"),
    **_table("punct", "colon :"),
    **_table("dots", "ldots ... dots ... dotsc ... dotso ... textellipsis ... mathellipsis ..."),
    "backslash": ("ord", "∖"),
    "\\": ("space", ""),
    "hfill": ("space", ""),
    "thinspace": ("space", ""),
    "space": ("space", ""),
    "nobreakspace": ("space", ""),
    "quad": ("space", ""),
    "qquad": ("space", ""),
    "enspace": ("space", ""),
    **dict.fromkeys([",", ";", ":", ">", " ", "\n", "~"], ("space", "")),
}

FUNCTION_NAMES = names(
    """arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup ln log max
    min Pr sec sin sinh sup tan tanh injlim projlim varliminf varlimsup lcm sgn rank Tr tr diag supp"""
)

# Names that many authors define alike, for sources whose macro file is missing.
USUAL_OPERATORS = names(
    """Spec Proj Hom Ext Tor Ker ker Coker coker im Aut End Gal Pic Ob Mor Sch QCoh Coh colim id Id GL SL SO SU Sp PGL
    PSL Sym Map Fun Mod Top Set Ab Grp Var Cov Res Ann Ass rad rk Frac Cl Div Int Ind Stab Orb Fix Sh SheafHom
    Lie ad Ad char Char ord lcm codim span Span vol Vol conv dist diam argmax argmin sign erf Cat Alg Ring Vect
    Sets cosk sk depth length Norm Trace Tr tr pd proj inj Inn Out Isom Iso Diff Der grad curl div Log Arg
    Dom dom Ran ran"""
)
USUAL_LETTERS = {
    **{letter: letter for letter in "RZNQCFPEKLABDGHMTUVWXY"},
    **{2 * letter: letter for letter in "RZNQCFPAEKGH"},
}

# One character of a formula as it is typed.
MATH_CHARACTERS: dict[str, tuple[str, str]] = {
    **{character: ("rel", character) for character in "=<>"},
    **{character: ("bin", character) for character in "+±×÷·∪∩⊕⊗∧∨◦∘"},
    **{character: ("rel", character) for character in "≤≥≠≈∼≃≅≡∈∉⊂⊆⊃⊇∝≪≫⊢⊨"},
    **{character: ("arrow", character) for character in "→←↔⇒⇐⇔↦"},
    **{character: ("punct", character) for character in ",;:"},
    "-": ("bin", "−"),
    "−": ("bin", "−"),
    "*": ("bin", "∗"),
    "|": ("bar", "|"),
    "(": ("open", "("),
    "[": ("open", "["),
    ")": ("close", ")"),
    "]": ("close", "]"),
    "'": ("ord", "′"),
    "…": ("dots", "..."),
    "~": ("space", ""),
}

# What ``\\not`` makes of the command or character after it.
NEGATED = {
    "=": "≠", "<": "≮", ">": "≯", "\\in": "∉", "\\equiv": "≢", "\\subset": "⊄", "\\subseteq": "⊈", "\\exists": "∄",
    "\\mid": "∤", "\\sim": "≁", "\\cong": "≇", "\\le": "≰", "\\leq": "≰", "\\ge": "≱", "\\geq": "≱",
}  # fmt: skip

# Delimiters that widely used packages put around an argument.
PAIRS = {
    "bra": ("⟨", "|"), "ket": ("|", "⟩"), "braket": ("⟨", "⟩"), "set": ("{", "}"),
    "norm": ("‖", "‖"), "Norm": ("‖", "‖"),
}  # fmt: skip

# Binary operators that, alone in a superscript, are a decoration of the symbol (x∗, A†, 90◦).
DECORATIONS = set("∗⋆◦†‡⊥•×⊤")

MATH_ACCENTS = {
    "hat": "\u0302",
    "widehat": "\u0302",
    "tilde": "\u0303",
    "widetilde": "\u0303",
    "bar": "\u0304",
    "overline": "\u0304",
    "dot": "\u0307",
    "ddot": "\u0308",
    "vec": "\u20d7",
    "check": "\u030c",
    "acute": "\u0301",
    "grave": "\u0300",
    "breve": "\u0306",
    "mathring": "\u030a",
}

TEXT_ACCENTS = {
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    '"': "\u0308",
    "~": "\u0303",
    "=": "\u0304",
    ".": "\u0307",
    "u": "\u0306",
    "v": "\u030c",
    "H": "\u030b",
    "c": "\u0327",
    "k": "\u0328",
    "r": "\u030a",
    "d": "\u0323",
    "b": "\u0331",
}

# Commands that print something of their own in running text.
TEXT_SYMBOLS: dict[str, str] = {
    **{symbol: symbol for symbol in "%&$#_{}"},
    **dict.fromkeys([" ", ",", ";", ":", ">", "\n", "\t"], " "),
    **dict.fromkeys(["!", "-", "/", "@", "*"], ""),
    **dict.fromkeys(names("quad qquad enspace thinspace space nobreakspace"), " "),
    **{
        name: symbol
        for name, (_, symbol) in _table(
            "text",
            """ss ß o ø O Ø ae æ AE Æ oe œ OE Œ aa å AA Å l ł L Ł i i j j dh ð DH Ð th þ TH Þ S § P ¶ dag † ddag ‡
            copyright © pounds £ ldots ... dots ... textellipsis ... LaTeX LaTeX TeX TeX LaTeXe LaTeX2ε BibTeX BibTeX
            lq ‘ rq ’ textquoteleft ‘ textquoteright ’ textquotedblleft “ textquotedblright ” textendash – textemdash —
            textbackslash \\ textasciitilde ~ textbar | textless < textgreater > textdegree ° textregistered ®
            texttrademark ™ textperiodcentered · textbullet • guillemotleft « guillemotright » textasciicircum ^
            textunderscore _ textmu µ textdollar $ textpm ± texttimes × euro € textonehalf ½ slash / textquotesingle '
            textdagger † percent % lbrack [ rbrack ]""",
        ).items()
    },
}

# Abbreviations that many authors define, for sources whose macro file is missing.
USUAL_WORDS = {
    "eg": "e.g.", "ie": "i.e.", "etal": "et al.", "etc": "etc.", "resp": "resp.", "cf": "cf.", "wrt": "w.r.t.",
    "iid": "i.i.d.", "etale": "étale", "Cech": "Čech", "Kahler": "Kähler", "Poincare": "Poincaré",
}  # fmt: skip


def accented(base: str, mark: str) -> str:
    """One character with an accent, composed where Unicode has the composition.

    >>> accented("e", "\\u0301")
    'é'
    """
    base = {"ı": "i", "ȷ": "j"}.get(base, base)
    return unicodedata.normalize("NFC", base[:1] + mark) + base[1:]
