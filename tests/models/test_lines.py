from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.lines import PIECE, WordsAndLetters, judge_identity, load_line_judge
from models.prose import LINE_BREAK, ProseModel, ngram_rows, odds_of_prose
from models.words.counts import load_word_counts
from models.words.cutting import cut_into_words
from respace import gaps
from respace.judgement import REASONS, Judgement
from respace.laid_texts import LaidTexts


@pytest.fixture(scope="module")
def judge() -> WordsAndLetters:
    return load_line_judge()


def judged(text: str, judge: WordsAndLetters, all_text: bool = False) -> Judgement:
    return Judgement.of(LaidTexts.of([text]), judge, all_text)


def reasons_of(text: str, judge: WordsAndLetters, all_text: bool = False) -> set[str]:
    return {REASONS[reason] for reason in judged(text, judge, all_text).reasons}


@pytest.mark.parametrize(
    "text",
    [
        "Thealgorithmisfast,anditrepairswholedocuments.",
        "Helefttha Scotland temporarilyin1987".replace(" ", ""),
        "ThisisthesecondalbumbytheBritishbandQueen.",
        "AfricanJournalofInfectiousDiseases",
        "HongKongVolunteerCompany",
        "whereformula_2andformula_3arematrices",
    ],
)
def test_words_of_running_text_lost_their_spaces(judge: WordsAndLetters, text: str) -> None:
    assert judged(text, judge).lost.all()


@pytest.mark.parametrize(
    "text",
    [
        "Internationalisation",
        "Antidisestablishmentarianism",
        "Donaudampfschifffahrtsgesellschaft",
        "methylenedioxymethamphetamine",
        "doi:10.1016/j.foodqual.2012.05.003",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "annual_report_2020_final_v2.docx",
        "java.util.concurrent.ConcurrentHashMap<String,List<Integer>>",
        "transformLiteralToPath(block);",
        "------------------------------",
        "今天天气很好我们去公园散步吧他说好的明天我们再去一次",
        "This has one.Therestisveryverylong",
    ],
)
def test_names_addresses_and_sums_did_not(judge: WordsAndLetters, text: str) -> None:
    assert not judged(text, judge).lost.any()


def test_an_address_stays_where_spaces_were_lost(judge: WordsAndLetters) -> None:
    assert np.isinf(judged("https://www.example.com/whatistheanswertothisquestion", judge).caution[1:]).all()


def test_each_line_is_judged_for_itself(judge: WordsAndLetters) -> None:
    lines = [
        "Thislinelostallofitsspaces,andthatisashame.",
        "doi:10.1016/j.foodqual.2012.05.003",
        "thenextonelostthemtoo",
    ]
    lost = judged("\n".join(lines), judge).lost
    assert lost.tolist() == [True] * len(lines[0]) + [False] * len(lines[1]) + [True] * len(lines[2])


@pytest.mark.parametrize(
    "text",
    [
        "Thealgo rithm isfast, and it re pairs whole documents.",
        "Knuth, D.E. (1984). Literate programming. The Computer Journal, 27(2):97-111.",
        "Hence, the scale of non-commutativity Λ is defined as θ = 1/Λ 2",
        "RESULTS AND DISCUSSION",
        "Karl Marx was born in Trier.",
    ],
)
def test_english_needs_no_more_evidence(judge: WordsAndLetters, text: str) -> None:
    assert "not English prose" not in reasons_of(text, judge)


@pytest.mark.parametrize(
    "text",
    [
        "Die Freiburger Universität wurde 1457 gegründet und gehört zu den ältesten deutschen Hochschulen.",
        "La ville est située au pied de la Forêt-Noire ; elle compte environ 230 000 habitants.",
        "for (int i = 0; i < count; ++i) { total += values[i]; }",
        "SELECT a.id, b.name FROM users a INNER JOIN orders b ON a.id = b.user_id;",
        '{ "createdAt": 12, "updatedAt": 13, "name": "x" }',
        "2019   1,204.5   980.2   224.3   112.9",
        "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7",
    ],
)
def test_other_text_does(judge: WordsAndLetters, text: str) -> None:
    assert (judged(text, judge).caution[1:] > 0.5).all()
    assert "not English prose" not in reasons_of(text, judge, all_text=True)


def test_what_stands_around_counts_a_little(judge: WordsAndLetters) -> None:
    line = "return the total of all values"
    code = "\n".join(["    for (i = 0; i < n; i++) {", "        sum += values[i] * 2;", "    }"])
    prose = "It was the first time that anybody had asked her what she thought of the whole affair."
    in_code = judged(f"{code}\n{line}\n{code}", judge).caution
    in_prose = judged(f"{prose}\n{line}\n{prose}", judge).caution
    start = len(gaps.split(code)[0])
    assert in_code[start + 1 : start + 20].max() >= in_prose[len(gaps.split(prose)[0]) + 1] == 0


@given(st.text(max_size=3 * PIECE), st.booleans())
def test_any_text_is_judged(text: str, all_text: bool) -> None:
    characters, _ = gaps.split(text)
    verdict = judged(text, load_line_judge(), all_text)
    assert len(verdict.caution) == len(verdict.lost) == len(verdict.reasons) == len(characters)
    assert not np.isnan(verdict.caution).any()
    assert (verdict.caution >= 0).all()
    covered = sum(one.stop - one.start for one in verdict.left_alone(LaidTexts.of([text]))[0])
    assert covered == np.count_nonzero(verdict.reasons)


def test_long_lines_are_judged_piece_by_piece(judge: WordsAndLetters) -> None:
    prose = "It was the first time that anybody had asked her what she thought of the whole affair. " * 12
    code = "x[i]+=f(y[j],z->k);if(!p){q=NULL;} " * 40
    caution = judged(prose + code, judge).caution
    assert not caution[: len(gaps.split(prose)[0]) // 2].any()
    assert caution[-200:].min() > 2


def test_words_are_cut_as_a_slow_search_cuts_them() -> None:
    counts = load_word_counts()
    text = "thealgorithmisfast"
    found = cut_into_words(counts, gaps.code_points(text), np.arange(len(text)) == 0)
    words = [text[start : start + length] for start, length in zip(found.starts, found.lengths, strict=True)]
    assert words == ["the", "algorithm", "is", "fast"]
    assert [counts.words[word] for word in found.words] == words


def test_evidence_is_a_running_sum() -> None:
    table = np.zeros(1 << 18)
    codes = gaps.code_points("abcab")
    rows = ngram_rows(codes)
    assert [one[0] == one[3] for one in rows[:2]] == [True, False]  # "a" is "a" anywhere, "ca" is not what begins
    table[rows[0][0]] = 2.0
    model = ProseModel.of(table, bias=0.5)
    assert np.diff(model.evidence(codes)).tolist() == [2, 0, 0, 2, 0]
    assert odds_of_prose(model.bias, 4.0, 0) == 1.5


def test_the_shipped_judge_has_a_name() -> None:
    assert judge_identity().startswith("prose@")
    assert ord("\n") == LINE_BREAK
