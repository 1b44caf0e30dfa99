from __future__ import annotations

import csv

from respace.published import published
from respace.tables import Table, comma_separated, html_page, latex, markdown

TABLE = Table("T & 100 %", ["method", "a_b"], [["<script>|", "1.0"]], "Remark.")


def test_every_form_escapes_what_it_must() -> None:
    assert markdown(TABLE).splitlines()[-3:] == ["| <script>\\| | 1.0 |", "", "Remark."]
    assert list(csv.reader(comma_separated([TABLE]).splitlines()))[1] == ["T & 100 %", "<script>|", "a_b", "1.0"]
    assert r"method & a\_b \\" in latex(TABLE)
    assert r"\caption{T \& 100 \%. Remark.}" in latex(TABLE)
    page = html_page("Evaluation", [TABLE])
    assert "&lt;script&gt;|" in page
    assert "<script>" not in page


def test_published_figures() -> None:
    assert published("sequence_accuracy")["Google Docs"]["ACL"] == 67.8
    assert published("f_score")["BID+ The One"]["arXiv.pdftotext"] == 81.8
    assert published("precision") == {}
