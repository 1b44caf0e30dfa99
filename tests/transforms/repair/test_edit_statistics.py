from __future__ import annotations

from respace.gaps import Edit, edits, split
from respace.judgement import LeftAlone
from transforms.repair.edit_statistics import KEPT_SAMPLES, EditStatistics, changed_words
from transforms.repair.passages import passage_around


def changes(before: str, after: str) -> list[Edit]:
    (characters, given), (same, wanted) = split(before), split(after)
    assert characters == same
    return edits(given, wanted)


def test_words_between_unchanged_spaces() -> None:
    before, after = "Tispa per isabout token izaionrep air", "Tis paper is about tokenizaion repair"
    assert changed_words(before, changes(before, after)) == [
        ("moved", "Tispa per → Tis paper"),
        ("split", "isabout → is about"),
        ("moved", "token izaionrep air → tokenizaion repair"),
    ]


def test_a_change_over_a_very_long_stretch_is_no_word() -> None:
    before = "a" * 50 + "b"
    assert changed_words(before, changes(before, "a" * 50 + " b")) == []


def test_counts_and_histogram() -> None:
    statistics = EditStatistics()
    statistics.add("s", 0, "of the", [], dead=False)
    statistics.add("s", 1, "é" * 498 + " b", [Edit(498, "deletion")], dead=False)
    statistics.add("s", 2, "ofthe", [Edit(2, "insertion")], dead=False)
    statistics.add("s", 3, "why", [], dead=True)
    statistics.add("s", 4, None, [], dead=False)
    assert dict(statistics.counts) == {
        "documents": 5,
        "edited_documents": 2,
        "dead_letters": 1,
        "bytes": 6 + 998 + 5 + 3,
        "insertions": 1,
        "deletions": 1,
    }
    # none; up to 1; 1–2 (exactly 2 per 1,000); …; more than 100
    assert statistics.histogram == [1, 0, 1, 0, 0, 0, 0, 0, 1]


def test_edits_are_counted_by_what_was_said_of_the_text() -> None:
    statistics = EditStatistics()
    edits = [Edit(1, "insertion"), Edit(2, "insertion", 0.9, "not English prose")]
    statistics.add("s", 0, "abc d", edits, dead=False, left_alone=[LeftAlone("not English prose", 3, 4)])
    assert statistics.left_alone == {"not English prose": 1}
    assert statistics.certainty.kinds == {
        ("English prose, between letters", "insertion"): 1,
        ("not English prose, between letters", "insertion"): 1,
    }


def test_shards_add_up_in_any_order() -> None:
    shards = []
    for number in range(4):
        shard = EditStatistics()
        for row in range(20):
            shard.add(f"shard{number}", row, "ofthe", [Edit(2, "insertion")], dead=False)
        assert len(shard.samples) == KEPT_SAMPLES
        shards.append((shard.counts, shard.to_json()))
    total, backwards = EditStatistics.merge(shards, samples=9), EditStatistics.merge(shards[::-1], samples=9)
    assert total == backwards
    assert total.counts["documents"] == 80
    assert total.split == {"ofthe → of the": 80}
    assert len(total.samples) == 9


def test_a_passage_is_the_text_around_an_edit() -> None:
    before = "start " + "word " * 100 + "ofthe end" + " word" * 100
    passage, _ = passage_around(before, [Edit(407, "insertion")], 0)
    assert "".join(text for what, text in passage if what != "inserted") in before
    assert passage[1] == ("inserted", " ")
    assert passage[0][1].endswith("word of")
    assert len(passage[0][1]) < 120
    assert len(passage[2][1]) < 400


def test_a_passage_around_any_edit_shows_all_that_are_in_it() -> None:
    before = "start " * 40 + "ofthe a x ofthe"
    chosen = [Edit(202, "insertion"), Edit(206, "deletion"), Edit(209, "insertion")]
    passage, where = passage_around(before, chosen, 1)
    assert [what for what, _ in passage] == ["same", "inserted", "same", "deleted", "same", "inserted", "same"]
    assert passage[where] == ("deleted", " ")
    assert "".join(text for what, text in passage if what != "inserted") in before
