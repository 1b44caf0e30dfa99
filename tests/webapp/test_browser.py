"""The pages in headless Chromium, with a real model and a corpus that was really repaired. Needs a Chromium."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.webapp.serving import running
from transforms.repair.review import read_review

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")]
playwright_api = pytest.importorskip("playwright.sync_api")
expect = playwright_api.expect
expect.set_options(timeout=30_000)  # a busy machine is not a fault of the page
PHONE, DESKTOP = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def write_benchmark(root: Path) -> None:
    """10,000 sequences; every fourth has an error, which `good` repairs and `bad` does not."""
    folder = root / "Wiki" / "predictions"
    folder.mkdir(parents=True)
    correct = [f"the cat number {number} sat <b>here</b>" for number in range(10_000)]
    corrupt = [one.replace("the cat", "thec at") if row % 4 == 0 else one for row, one in enumerate(correct)]
    for path, lines in (
        (folder.parent / "corrupt.txt", corrupt),
        (folder.parent / "correct.txt", correct),
        (folder / "good.txt", correct),
        (folder / "bad.txt", corrupt),
    ):
        path.write_text("".join(line + "\n" for line in lines))


def repair_command(root: Path) -> list[str]:
    command = [sys.executable, "-m", "pipelines.repair_corpus", "--input", str(root / "in")]
    command += ["--output", str(root / "out"), "--provenance", "--local_workers", "1"]
    return [*command, "--max_error_fraction", "1"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    root = tmp_path_factory.mktemp("browser")
    write_benchmark(root / "dev")
    (root / "in").mkdir()
    (root / "in" / "a.jsonl").write_text(json.dumps({"text": "Thealgo rithm isfast."}) + "\n")
    long_name = "a_name_of_a_file_that_is_as_long_as_names_of_files_sometimes_are_100%41.csv"
    (root / "in" / long_name).write_text('id,text\n1,"Wede scribe a newmethod <b>bold</b>, and its resu lts"\n2,a,b\n')
    subprocess.run(repair_command(root), check=True, capture_output=True)
    shown = ["--benchmarks", str(root / "dev"), "--corpus", str(root / "out"), "--methods", "fast,do_nothing"]
    with running(*shown) as address:
        yield address, root


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport=DESKTOP)
    found = context.new_page()
    problems: list[str] = []
    found.on("pageerror", lambda error: problems.append(str(error)))
    found.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    yield found
    context.close()
    assert problems == []


def keep_screenshot(page: Any, name: str) -> None:
    """Where ``$RESPACE_SCREENSHOTS`` says, for people to look at."""
    if folder := os.environ.get("RESPACE_SCREENSHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def test_choose_filter_permalink_and_keys(page: Any, server: tuple[str, Path]) -> None:
    page.goto(f"{server[0]}/")
    expect(page.locator("article")).to_have_count(25)
    page.select_option("#one", "good")
    page.select_option("#two", "bad")
    expect(page.locator("#significance")).to_contain_text("significant")
    assert page.text_content("#score-table tbody tr:nth-child(1) td:nth-child(2)") == "100.00"
    assert page.text_content("#score-table tbody tr:nth-child(2) td:nth-child(3)") == "75.00"
    page.select_option("#kind", "differ")
    assert page.text_content("#message") == "2500 of 10000 sequences"
    assert page.text_content("#score-table tbody tr:nth-child(2) td:nth-child(3)") == "0.00"
    first = page.locator("article").first
    assert first.locator(".mark.tp").all_text_contents() == ["␣✓", "⁀✓"]
    assert first.locator(".mark.fn").all_text_contents() == ["␣?", "⁀?"]
    assert page.locator("article b").count() == 0  # text is text
    keep_screenshot(page, "analysis-desktop")
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.get_attribute("article.selected", "data-number") == "4"
    page.keyboard.press("k")
    page.keyboard.press("n")
    assert page.text_content("#place") == "26–50 of 2500"
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.wait_for_selector("article.selected")
    assert page.text_content("#place") == "26–50 of 2500"
    assert page.input_value("#kind") == "differ"
    began = time.monotonic()
    page.fill("#text", "number 4321 ")
    assert page.text_content("#message") == "0 of 10000 sequences"
    page.fill("#text", "number 4320 ")
    assert page.text_content("#message") == "1 of 10000 sequences"
    assert time.monotonic() - began < 3


def test_typing_with_a_real_model(page: Any, server: tuple[str, Path]) -> None:
    page.goto(f"{server[0]}/try.html")
    page.wait_for_selector("#result .mark", timeout=60_000)
    page.fill("#input", "Thepap er isgood <b>.")
    expect(page.locator("#result")).to_contain_text("The␣pap⁀er is␣good")
    keep_screenshot(page, "try-desktop")
    page.evaluate("for (const one of ['insertion', 'deletion']) { const e = document.getElementById(one);"
                  " e.value = 25; e.dispatchEvent(new Event('input')); }")  # fmt: skip
    expect(page.locator("#result .mark")).to_have_count(0)
    page.select_option("#method", "do_nothing")
    expect(page.locator("#message")).to_contain_text("0 edits")
    assert page.is_disabled("#insertion")


def test_opens_with_the_errors_of_the_best_method(browser: Any, tmp_path: Path) -> None:
    """On a phone: whole words, lines that fit, and gaps as wide as they are."""
    folder = tmp_path / "dev" / "Wiki"
    (folder / "predictions").mkdir(parents=True)
    sentence = "internationalization of long sentences needs several lines on telephones"
    corrupt = sentence.replace("of long", "oflong")
    for name, lines in (
        ("corrupt.txt", [corrupt, corrupt, "a b"]),
        ("correct.txt", [sentence, sentence, "a b"]),
        ("predictions/a_bad.txt", [corrupt, corrupt, "a b"]),
        ("predictions/good.txt", [sentence, corrupt, "a b"]),
    ):
        (folder / name).write_text("".join(line + "\n" for line in lines))
    with running("--benchmarks", str(tmp_path / "dev"), "--methods", "do_nothing") as address:
        page = browser.new_page(viewport=PHONE)
        page.goto(f"{address}/")
        expect(page.locator("article")).to_have_count(1)
        assert (page.input_value("#one"), page.input_value("#kind")) == ("good", "errors")
        assert page.text_content("#message") == "1 of 3 sequences"
        assert page.get_attribute("article", "data-number") == "1"
        lines = page.locator(".block .text").all_text_contents()
        inputs, truths, predicted = lines[::3], lines[1::3], lines[2::3]
        assert len(inputs) > 1
        assert [line.split() for line in truths] == [
            line.replace("··", "").replace("  ", " ").split() for line in truths
        ]
        assert " ".join(truths).split() == sentence.split()
        assert " ".join(inputs).replace("··", "") == corrupt
        assert "of␣?long" in " ".join(predicted)
        for text in page.locator(".block .text").all():
            assert text.evaluate("one => one.scrollWidth <= one.clientWidth")
        keep_screenshot(page, "errors-phone")
        page.goto(f"{address}/#kind=all")
        page.reload()
        expect(page.locator("article")).to_have_count(3)  # a link shows what it says
        page.close()


def test_while_the_model_loads_the_page_says_so(browser: Any) -> None:
    with running("--methods", "fast,bid_plus,dynamic_programming", ready="/try.html") as address:
        page = browser.new_page()
        page.goto(f"{address}/try.html")
        expect(page.locator("#message")).to_contain_text("still loading")
        expect(page.locator("#message")).to_have_class("quiet")
        expect(page.locator("#result")).to_contain_text("The␣algo⁀rithm", timeout=120_000)
        expect(page.locator("#message")).to_contain_text("4 edits by fast")
        page.close()


def test_marked_text_keeps_its_gaps(page: Any, server: tuple[str, Path]) -> None:
    page.set_viewport_size(PHONE)
    page.goto(f"{server[0]}/try.html")
    page.fill("#input", "The  algo rithm isfast,\n\tand it is   good.")
    expect(page.locator("#result")).to_contain_text("good")
    assert page.text_content("#result") == "The  algo⁀rithm is␣fast,\n\tand it is   good."
    letter = page.evaluate(
        """() => {
            const probe = element("span", {}, "0".repeat(10));
            document.getElementById("result").append(element("br"), probe);
            const width = probe.getBoundingClientRect().width / 10;
            probe.remove();
            return width;
        }"""
    )
    for kind, most in (("ins", 1.1), ("del", 1.4)):
        for place in ("#result", "td"):
            width = page.locator(f"{place} .{kind}").first.evaluate("one => one.getBoundingClientRect().width")
            assert 0.7 * letter < width < most * letter, (kind, place)


def test_examples_and_the_table_of_edits_on_a_phone(page: Any, server: tuple[str, Path]) -> None:
    page.set_viewport_size(PHONE)
    page.goto(f"{server[0]}/try.html")
    expect(page.locator(".about")).to_have_text(
        "Respace repairs missing and extra spaces in text, and changes nothing else."
    )
    page.get_by_role("button", name="code stays as it is").click()
    expect(page.locator("#left")).to_contain_text("not English prose")
    page.get_by_role("button", name="all spaces lost").click()
    expect(page.locator("#result")).to_contain_text("when␣the␣text␣layer")
    edits = page.locator("#edits")
    assert edits.evaluate("one => one.scrollHeight > one.clientHeight && one.clientHeight <= 0.6 * innerHeight + 1")
    edits.evaluate("one => one.scrollTo(one.scrollWidth, one.scrollHeight)")
    last, region = page.locator("#edits td").last.bounding_box(), edits.bounding_box()
    assert last["x"] + last["width"] <= region["x"] + region["width"] + 1
    assert last["y"] + last["height"] <= region["y"] + region["height"] + 1
    words = {"…", *"when the text layer of a scanned page is bad, a whole line can lose all of its spaces".split()}
    for row in page.locator("#edits td:first-child").all_text_contents():
        assert set(row.replace("␣", " ").split()) <= words, row  # no word is cut off
    keep_screenshot(page, "edits-phone")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_deletions_have_one_colour(browser: Any, server: tuple[str, Path], scheme: str) -> None:
    page = browser.new_page(color_scheme=scheme)
    colours = set()
    for name, sign in (("try", "#result .del"), ("corpus", "article .del"), ("corpus/_report/index", "del")):
        page.goto(f"{server[0]}/{name}.html")
        page.wait_for_selector(sign)
        colours.add(page.locator(sign).first.evaluate("one => getComputedStyle(one).color"))
    assert len(colours) == 1
    page.close()


def one_page_pdf(text: str) -> bytes:
    """The smallest PDF with a line of text that readers accept."""
    page = f"BT /F1 18 Tf 40 700 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
        b" /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(page), page),
    ]
    content, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, start=1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(content)
    return content + b"xref\n0 5\n0000000000 65535 f \n" + table + trailer


def drop(page: Any, name: str, content: bytes) -> None:
    """What happens when a visitor lets go of a file over the page."""
    page.evaluate(
        """([name, bytes]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(bytes)], name));
            const about = { dataTransfer: transfer, bubbles: true, cancelable: true };
            document.body.dispatchEvent(new DragEvent("drop", about));
        }""",
        [name, list(content)],
    )


def test_files_that_are_dropped(page: Any, server: tuple[str, Path]) -> None:
    page.goto(f"{server[0]}/try.html")
    page.wait_for_selector("#result .mark", timeout=60_000)
    drop(page, "paper.pdf", one_page_pdf("Thepap er isgood."))
    expect(page.locator("#input")).to_have_value(re.compile("Thepap er isgood"), timeout=30_000)
    expect(page.locator("#result")).to_contain_text("The␣pap⁀er is␣good")
    drop(page, "note.TXT", b"Thealgo rithm isfast.")
    expect(page.locator("#result")).to_contain_text("The␣algo⁀rithm is␣fast")
    drop(page, "image.png", b"x")
    expect(page.locator("#message")).to_contain_text("image.png: expected a .txt or .pdf file")


def test_a_corpus_is_reviewed_and_the_review_applied(page: Any, server: tuple[str, Path]) -> None:
    page.goto(f"{server[0]}/corpus.html")
    page.wait_for_selector("article")
    keep_screenshot(page, "corpus-desktop")
    article = page.get_by_role("article", name="of a.jsonl").first  # the order is by confidence, so by the model
    article.locator("button[data-decision=reject]").click()
    expect(article.get_by_role("status")).to_have_text("saved")
    decisions = [one for row in read_review(str(server[1] / "out" / "_review.jsonl")).values() for one in row.values()]
    assert decisions == ["reject"]
    page.reload()
    expect(article.locator("button[aria-pressed=true]")).to_have_text("reject")
    before = (server[1] / "out" / "a.jsonl").read_text()
    subprocess.run(
        [*repair_command(server[1]), "--review", str(server[1] / "out" / "_review.jsonl")],
        check=True,
        capture_output=True,
    )
    after = (server[1] / "out" / "a.jsonl").read_text()
    assert len(json.loads(after)["respace_edits"]) == len(json.loads(before)["respace_edits"]) - 1


def test_nothing_to_show(browser: Any) -> None:
    with running("--methods", "do_nothing") as address:
        page = browser.new_page()
        page.goto(f"{address}/")
        expect(page.locator("#message")).to_contain_text("Start the application with --benchmarks DIRECTORY")
        expect(page.locator("main select")).to_have_count(0)
        page.goto(f"{address}/corpus.html")
        expect(page.locator("#message")).to_contain_text("Start the application with --corpus DIRECTORY")
        expect(page.locator("h2").first).to_be_hidden()
        page.close()


def test_every_link_of_the_report(page: Any, server: tuple[str, Path]) -> None:
    page.goto(f"{server[0]}/corpus.html")
    page.click("text=The whole report")
    assert page.locator("blockquote b").count() == 0  # text is text
    links = page.locator("a").evaluate_all("found => found.map((one) => one.href)")
    assert sum("_dead_letters" in one for one in links) == 1
    for link in set(links):
        assert page.request.get(link).status == 200, link


@pytest.mark.parametrize("name", ["index", "try", "corpus", "corpus/_report/index"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_and_accessibility(browser: Any, server: tuple[str, Path], name: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = browser.new_context(viewport=PHONE, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(f"{server[0]}/{name}.html")
    page.wait_for_selector({"try": "#result .mark", "corpus/_report/index": "figure"}.get(name, "article"))
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    keep_screenshot(page, f"{name.replace('/', '-')}-phone-{scheme}")
    found = axe.run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")] == []
    context.close()
