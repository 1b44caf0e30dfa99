"""LaTeX sources to running text, with inline formulas as a reader of the PDF sees them.

>>> from respace.latex.project import convert
>>> tex = r"\\section{Gravity} We take $F(R,T)$ on $\\mathbb{R}^{n+1}$ to be smooth:  \\[ x = y \\]"
>>> [paragraph.text for paragraph in convert({"paper.tex": tex}, "paper.tex").paragraphs]
['Gravity', 'We take F(R, T) on Rn + 1 to be smooth:']

`reader` reads tokens, `macros` expands the author's commands, `formula` and `line` write formulas, `body` makes
paragraphs, `project` puts files together, `marks` stands for what only LaTeX knows, `quality` says what to learn from.
"""
