"""Running text out of LaTeX: what becomes a paragraph, what vanishes, what stays."""

from __future__ import annotations

import pytest

from respace.latex.marks import Labels
from respace.latex.project import convert
from respace.latex.reader import without_comments


def text(tex: str) -> list[str]:
    labels = Labels()
    return [labels.fill(paragraph.text) for paragraph in convert({"main.tex": tex}, "main.tex").paragraphs]


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        ("One.\n\nTwo\nlines.", ["One.", "Two lines."]),
        (r"\section{First $x+1$} Text.", ["First x + 1", "Text."]),
        ("Hence \\[ x \\] holds.", ["Hence", "holds."]),
        ("Hence $$x$$ holds.", ["Hence", "holds."]),
        (r"So \begin{align*} x &= y \end{align*} where $y$ is odd.", ["So", "where y is odd."]),
        (r"\begin{equation}\label{e} x \end{equation}", []),
        ("\\begin{theorem}\n  [Euler] Let $x$ be.\\end{theorem}", ["Let x be."]),
        ("\\begin{quote}\n[The] words.\\end{quote}", ["[The] words."]),
        (r"\begin{itemize}\item One \item[(b)] Two\end{itemize}", ["One", "(b) Two"]),
        (r"A\footnote{The note.} b.", ["The note.", "A b."]),
        (r"\begin{figure}\includegraphics{x}\caption{A \emph{fine} picture}\end{figure} After.",
         ["A fine picture", "After."]),
        (r"\begin{table}\begin{tabular}{cc} 1 & 2\end{tabular}\end{table} After.", ["After."]),
        (r"\begin{verbatim} x_1 \end{verbatim} After.", ["After."]),
        (r"\begin{thebibliography}{9}\bibitem{a} A.\end{thebibliography}", []),
        (r"{\bf Bold} and {\em emphasised\/} text", ["Bold and emphasised text"]),
        (r"Erd\H{o}s, Poincar\'e, na\"{\i}ve, {\O}rsted", ["Erdős, Poincaré, naïve, Ørsted"]),
        (r"\v{C}ech, Stra\ss e, \c{C}a, \AA ngstr\"om", ["Čech, Straße, Ça, Ångström"]),
        ("``Quoted'' and `single', pages 3--7 --- yes", ["“Quoted” and ‘single’, pages 3–7 — yes"]),
        (r"5\% of \$3 \& more\_less", ["5% of $3 & more_less"]),
        (r"Fig.~3, e.g.\ this, 10\,km", ["Fig. 3, e.g. this, 10 km"]),
        (r"See \href{http://x.org/a_b}{this page}.", ["See this page."]),
        (r"By \cite{b} and \cite[p.~3]{a,b}.", ["By [1] and [1, 2]."]),
        (r"As \citet{Smith2001} say \citep{Jones1999,Doe2002}.",
         ["As Smith et al. (2001) say (Jones et al., 1999; Doe et al., 2002)."]),
        (r"Word\cite{a} next", ["Word [1] next"]),
        (r"In \S 2, \S3 and \S\ref{s}", ["In § 2, § 3 and § 1.1"]),
        (r"Recently \P has become known, and \P.", ["Recently ¶ has become known, and ¶."]),
        (r"Equation~\eqref{e} of Section~\ref{s}", ["Equation (1.1) of Section 1.2"]),
        (r"The $n$-th and $(n+1)$-dimensional case", ["The n-th and (n + 1)-dimensional case"]),
        (r"A \verb|x_1| b", ["A x_1 b"]),
        (r"Gone \iffalse not this \fi there", ["Gone there"]),
        (r"\begin{theorem}[Gauss] It holds. \end{theorem} \begin{proof} Clear. \end{proof}", ["It holds.", "Clear."]),
        (r"a\vspace{3pt} b \hspace*{2em} c\label{x}", ["a b c"]),
        (r"\newcommand{\eg}{e.g.\xspace}For \eg this, \eg, that", ["For e.g. this, e.g., that"]),
        (r"\newcommand{\be}{\begin{equation}}\newcommand{\ee}{\end{equation}}So \be x \ee then", ["So", "then"]),
        (r"\newenvironment{note}{\begin{quote}}{\end{quote}}\begin{note}Text.\end{note}", ["Text."]),
        (r"\newenvironment{eqn}{\begin{equation}}{\end{equation}}\begin{eqn}x\end{eqn} Text.", ["Text."]),
        ("", []),
    ],
)  # fmt: skip
def test_body(tex: str, expected: list[str]) -> None:
    assert text(tex) == expected


def test_only_the_title_comes_from_the_preamble() -> None:
    preamble = r"\documentclass{article}\usepackage{x}\title{On $F(R,T)$}\newcommand{\x}{y}"
    tex = preamble + r"\begin{document}\maketitle Text \x.\end{document} After"
    assert text(tex) == ["On F(R, T)", "Text y."]


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        ("a % b\nc", "a c"),
        ("a\n% b\nc", "a\nc"),
        ("a % b\n\nc", "a \n\n\nc"),
        (r"5\% x % y", r"5\% x "),
        ("a \\\\% b\nc", "a \\\\c"),
    ],
)
def test_comments(tex: str, expected: str) -> None:
    assert without_comments(tex) == expected


def test_an_unknown_command_marks_its_paragraph() -> None:
    [one, two] = convert({"m": r"The \nosuch fails." + "\n\n" + r"\layoutonly Fine."}, "m").paragraphs
    assert one.text == "The \ue00ffails."
    assert two.text == "Fine."


def test_kinds() -> None:
    tex = r"\section{T}\begin{abstract}A.\end{abstract}\begin{itemize}\item I.\end{itemize}P.\footnote{F.}"
    assert [(p.kind, p.text) for p in convert({"m": tex}, "m").paragraphs] == [
        ("title", "T"), ("abstract", "A."), ("item", "I."), ("footnote", "F."), ("text", "P.\ue003")
    ]  # fmt: skip
