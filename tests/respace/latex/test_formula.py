"""Formulas must be spaced as in the ground truth of the arXiv benchmarks; these expectations are read from there."""

from __future__ import annotations

import pytest

from respace.latex.formula import UNKNOWN, FormulaConverter
from respace.latex.macros import Macros
from respace.latex.reader import Budget, Reader


def formula(tex: str, definitions: str = "") -> str:
    macros = Macros()
    macros.gather(definitions, Budget())
    return FormulaConverter(macros, Budget()).convert(tex)


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        ("F(R,T)", "F(R, T)"),
        ("n+1", "n + 1"),
        (r"\pi(\theta|\alpha)", "π(θ | α)"),
        (r"\pi(\theta \mid \alpha)", "π(θ | α)"),
        ("S_{11}(1535)", "S11(1535)"),
        (r"3 \times 10^4", "3 × 104"),
        ("x_{n+1}=f(x)", "xn + 1 = f(x)"),
        (r"0 \leq \eta_1 \le 1", "0 ≤ η1 ≤ 1"),
        (r"c_4 = 1.211 \pm 0.003", "c4 = 1.211 ± 0.003"),
        (r"\sigma_i=\pm 1", "σi = ±1"),
        (r"h(T)<+\infty", "h(T) < +∞"),
        (r"A_j\to+\infty", "Aj → + ∞"),
        ("|T|", "|T |"),
        (r"|\eta|<1", "|η | <1"),
        (r"|A|=|B|", "|A | =|B |"),
        ("f:M \\to N", "f: M → N"),
        (r"f:(M,\alpha_M)\to(N,\alpha_N)", "f:(M, αM) → (N, αN)"),
        ("d(x,(y,z))", "d(x,(y, z))"),
        (r"\{0,1\}^n \rightarrow \{0,1\}^m", "{0, 1}n → {0, 1}m"),
        (r"W^\pm", "W ±"),
        (r"J^\pm=J^\pm(\phi)", "J ± = J ± (φ)"),
        (r"\chi^{++}", "χ + +"),
        (r"\Theta^+(1540)", "Θ + (1540)"),
        (r"\cos\theta\cos\psi", "cos θcos ψ"),
        (r"O(\log(n)\log(1/\epsilon))", "O(log(n)log(1/ϵ))"),
        (r"\log_2(n+c)", "log 2(n + c)"),
        (r"\lim_{\sigma\to\infty}D(\sigma)=1", "lim σ → ∞D(σ) = 1"),
        (r"\sin^2 2\theta_0", "sin 22θ0"),
        (r"\{d_1,d_2,\ldots,d_m\}", "{d1, d2, ..., dm}"),
        ("v_1v_2\\ldots v_n", "v1v2...vn"),
        (r"\alpha=4\pi k/\lambda", "α = 4πk/λ"),
        ("(>0.1c)", "(>0.1c)"),
        (r"a \in \mathbb{R}", "a ∈ R"),
        (r"Z_0:=Z_0(\beta,J)", "Z0 := Z0(β, J)"),
        (r"\hat{p}_1", "p̂1"),
        (r"\tilde\lambda_k", "λ̃k"),
        ("v_2<<v_1", "v2 < <v1"),
        (r"\max\{1,3\}", "max{1, 3}"),
        (r"R_{\psi\gamma}(\max)", "Rψγ(max )"),
        (r"\partial_t\rho+\partial_x j=0", "∂tρ + ∂xj = 0"),
        (r"d(\cdot,\cdot)", "d(·, ·)"),
        (r"\psi_{L,R}", "ψL, R"),
        (r"\lambda_n(\{G \geq a\})", "λn({G ≥ a})"),
    ],
)
def test_spacing_of_the_benchmark(tex: str, expected: str) -> None:
    assert formula(tex) == expected


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        ("10^{-3}", "10−3"),
        ("x^{-1}", "x−1"),
        ("a-b", "a − b"),
        ("-x", "−x"),
        ("x'", "x′"),
        ("A^*", "A∗"),
        (r"A^{\dagger}", "A†"),
        (r"90^\circ", "90◦"),
        ("80{,}000", "80,000"),
        ("d{=}256", "d=256"),
        ("a+=b", "a += b"),
        (r"2\times", "2×"),
        (r"5\,\mathrm{GeV}", "5 GeV"),
        (r"\frac{a}{b}", "a/b"),
        (r"\frac{a+1}{2}", "(a + 1)/2"),
        (r"\sqrt{x+1}", "√(x + 1)"),
        (r"x \text{ if } y", "x if y"),
        (r"\left(x\right)", "(x)"),
        (r"\left|x\right|", "|x |"),
        (r"\lvert x\rvert<1", "|x | <1"),
        (r"\left\{x\middle|y\right\}", "{x | y}"),
        (r"\operatorname{rank} A", "rank A"),
        (r"a \equiv b \pmod{n}", "a ≡ b (mod n)"),
        (r"a \not= b", "a ≠ b"),
        (r"x\not\in A", "x ∉ A"),
        (r"\mathcal{O}_X", "OX"),
        (r"\overline{z}", "z̄"),
        (r"\mathrm{Hom}(A,B)", "Hom(A, B)"),
        (r"\Spec(A)", "Spec(A)"),
        (r"x \ne y", "x ≠ y"),
        (r"\|x\|", "‖x ‖"),
        ("", ""),
    ],
)
def test_what_the_benchmark_has_not(tex: str, expected: str) -> None:
    assert formula(tex) == expected


@pytest.mark.parametrize(
    ("definitions", "tex", "expected"),
    [
        (r"\newcommand{\RR}{\mathbf{R}}", r"x\in\RR^n", "x ∈ Rn"),
        (r"\newcommand{\set}[1]{\left\{#1\right\}}", r"\set{1,2}", "{1, 2}"),
        (r"\newcommand{\norm}[2][p]{\|#2\|_{#1}}", r"\norm[q]{x}", "‖x ‖ q"),
        (r"\def\eps{\varepsilon}", r"\eps>0", "ε > 0"),
        (r"\def\pair#1#2{(#1,#2)}", r"\pair xy", "(x, y)"),
        (r"\DeclareMathOperator{\Tr}{tr}", r"\Tr A", "tr A"),
        (r"\let\phi\varphi", r"\phi", "ϕ"),
        (r"\DeclarePairedDelimiter\ceil{\lceil}{\rceil}", r"\ceil{x}", "⌈x⌉"),
        (r"\NewDocumentCommand{\inner}{m m}{\langle #1,#2\rangle}", r"\inner{x}{y}", "⟨x, y⟩"),
    ],
)
def test_macros(definitions: str, tex: str, expected: str) -> None:
    assert formula(tex, definitions) == expected


def test_macros_that_call_themselves_end() -> None:
    assert UNKNOWN in formula(r"\a", r"\def\a{\b\b}\def\b{\a\a}")
    assert formula(r"\phi", r"\renewcommand{\phi}{x\phi}") == "φ"


def test_what_has_no_place_in_a_line_is_marked() -> None:
    assert UNKNOWN in formula(r"\begin{pmatrix}a&b\end{pmatrix}")
    assert UNKNOWN in formula(r"\nosuchcommand")


def test_deep_nesting_ends() -> None:
    assert UNKNOWN in formula(r"\frac{" * 200 + "x" + "}{y}" * 200)
    assert formula(r"\mathbf{" * 500 + "x" + "}" * 500) == "x"


def test_an_argument_that_never_closes() -> None:
    assert Reader("{abc", Budget()).argument() == ""
    assert formula(r"x^{2") == "x2"
