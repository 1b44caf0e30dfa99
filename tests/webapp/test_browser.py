"""The pages in headless Chromium, with a real model and a corpus that was really repaired. Needs a Chromium."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from transforms.repair.review import read_review

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")]
playwright_api = pytest.importorskip("playwright.sync_api")
expect = playwright_api.expect
PHONE, DESKTOP = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    root = tmp_path_factory.mktemp("browser")
    write_benchmark(root / "dev")
    (root / "in").mkdir()
    (root / "in" / "a.jsonl").write_text(json.dumps({"text": "Thealgo rithm isfast."}) + "\n")
    run = [sys.executable, "-m", "pipelines.repair_corpus", "--input", str(root / "in"), "--output", str(root / "out")]
    subprocess.run([*run, "--provenance", "--local_workers", "1"], check=True, capture_output=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "webapp", "--port", str(port), "--benchmarks", str(root / "dev")]
    process = subprocess.Popen([*command, "--corpus", str(root / "out"), "--methods", "fast,do_nothing"])
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"{address}/data/index.json", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None
                time.sleep(0.2)
        yield address, root
    finally:
        process.terminate()
        process.wait(20)


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
                  " e.value = 20; e.dispatchEvent(new Event('input')); }")  # fmt: skip
    expect(page.locator("#result .mark")).to_have_count(0)
    page.select_option("#method", "do_nothing")
    expect(page.locator("#message")).to_contain_text("0 edits")
    assert page.is_disabled("#insertion")


def test_a_corpus_is_reviewed(page: Any, server: tuple[str, Path]) -> None:
    page.goto(f"{server[0]}/corpus.html")
    page.wait_for_selector("article")
    keep_screenshot(page, "corpus-desktop")
    page.locator("article").first.locator("button[data-decision=reject]").click()
    expect(page.locator("article [role=status]").first).to_have_text("saved")
    decisions = [one for row in read_review(str(server[1] / "out" / "_review.jsonl")).values() for one in row.values()]
    assert decisions == ["reject"]
    page.reload()
    page.wait_for_selector("article")
    assert page.locator("article").first.locator("button[aria-pressed=true]").text_content() == "reject"


@pytest.mark.parametrize("name", ["index", "try", "corpus"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_and_accessibility(browser: Any, server: tuple[str, Path], name: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = browser.new_context(viewport=PHONE, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(f"{server[0]}/{name}.html")
    page.wait_for_selector("#result .mark" if name == "try" else "article")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    keep_screenshot(page, f"{name}-phone-{scheme}")
    found = axe.run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")] == []
    context.close()
