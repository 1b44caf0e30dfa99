"use strict";
const PAGE = 25, DRAWS = 2000;
const FIELDS = ["benchmark", "one", "two", "kind", "sort", "text"];
const state = { benchmark: "", one: "", two: "", kind: "all", sort: "number", text: "", page: 0, selected: -1 };
const files = new Map();
let index = null, data = null, shown = [], testing = 0, columns = 80, isFirst = false;

const lines = async (path) => {
  if (!files.has(path)) {
    files.set(path, fetch(`data/${path}`).then((response) => {
      if (!response.ok) throw new Error(`data/${path}: the server answered ${response.status}`);
      return response.text();
    }).then((text) => text.split("\n").slice(0, -1)));
  }
  return files.get(path);
};

function counts(given, truth, done) {
  // Right, wrong and missed: of insertions, then of deletions.
  const found = [0, 0, 0, 0, 0, 0];
  for (let gap = 1; gap < given.length; gap++) {
    const wanted = given[gap] !== truth[gap], made = given[gap] !== done[gap];
    if (wanted || made) found[(given[gap] ? 3 : 0) + (wanted && made ? 0 : made ? 1 : 2)]++;
  }
  return found;
}

async function load() {
  const name = encodeURIComponent(state.benchmark);
  const methods = [state.one, state.two].filter(Boolean);
  const [corrupt, correct, ...predicted] = await Promise.all([lines(`${name}/corrupt.txt`), lines(`${name}/correct.txt`),
    ...methods.map((method) => lines(`${name}/predictions/${encodeURIComponent(method)}.txt`))]);
  const size = Math.min(corrupt.length, ...predicted.map((one) => one.length));
  const rows = [];
  for (let number = 0; number < size; number++) {
    const given = split(corrupt[number]), truth = split(correct[number]).bits;
    const done = predicted.map((one) => split(one[number]).bits);
    rows.push({ number, text: corrupt[number].toLowerCase(), given, truth, done, counts: done.map((bits) => counts(given.bits, truth, bits)) });
  }
  data = { rows, methods };
}

const wrong = (found) => found[1] + found[2] + found[4] + found[5];
const edits = (found) => [found[0] + found[3], found[1] + found[4], found[2] + found[5]];
const fScore = ([right, bad, missed]) => (2 * right + bad + missed ? (2 * right) / (2 * right + bad + missed) : 1);
const KINDS = {
  all: () => true,
  errors: (row) => row.counts.some((one) => wrong(one)),
  fp: (row) => row.counts.some((one) => one[1] + one[4]),
  fn: (row) => row.counts.some((one) => one[2] + one[5]),
  tp: (row) => row.counts.some((one) => one[0] + one[3]),
  insertion: (row) => row.counts.some((one) => one[1] + one[2]),
  deletion: (row) => row.counts.some((one) => one[4] + one[5]),
  differ: (row) => row.done.length === 2 && row.done[0].some((bit, gap) => bit !== row.done[1][gap]),
  one_better: (row) => row.done.length === 2 && !wrong(row.counts[0]) && wrong(row.counts[1]) > 0,
  two_better: (row) => row.done.length === 2 && wrong(row.counts[0]) > 0 && !wrong(row.counts[1]),
};
const SORTS = {
  number: (a, b) => a.number - b.number,
  errors: (a, b) => Math.max(...b.counts.map(wrong), 0) - Math.max(...a.counts.map(wrong), 0) || a.number - b.number,
  long: (a, b) => b.truth.length - a.truth.length || a.number - b.number,
  short: (a, b) => a.truth.length - b.truth.length || a.number - b.number,
};

function filter() {
  const text = state.text.toLowerCase();
  shown = data.rows.filter((row) => KINDS[state.kind](row) && (!text || row.text.includes(text))).sort(SORTS[state.sort]);
  state.page = Math.max(0, Math.min(state.page, Math.ceil(shown.length / PAGE) - 1));
}

function scores() {
  const head = element("tr", {}, ...["Method", "F-score", "Sequence accuracy", "Precision", "Recall", "Insertions F", "Deletions F"].map((one) => element("th", { scope: "col" }, one)));
  const rows = data.methods.map((method, place) => {
    const sums = [0, 0, 0, 0, 0, 0];
    let right = 0;
    for (const row of shown) { row.counts[place].forEach((one, part) => { sums[part] += one; }); right += !wrong(row.counts[place]); }
    const [tp, fp, fn] = edits(sums), share = (part, whole) => (whole ? part / whole : 1);
    const cells = [fScore([tp, fp, fn]), share(right, shown.length), share(tp, tp + fp), share(tp, tp + fn), fScore(sums.slice(0, 3)), fScore(sums.slice(3))];
    return element("tr", {}, element("td", {}, method), ...cells.map((one) => element("td", {}, (100 * one).toFixed(2))));
  });
  const parts = [element("table", { id: "score-table" }, element("thead", {}, head), element("tbody", {}, ...rows))];
  if (data.methods.length === 2) parts.push(element("p", { class: "quiet", id: "significance" }, "Testing the difference…"));
  byId("scores").replaceChildren(...parts);
  const turn = ++testing;
  if (data.methods.length === 2) setTimeout(() => turn === testing && significance(), 30);
}

// The paired randomization test of respace/significance.py, on what is shown; seeded, so that a link shows the same.
function significance() {
  const differing = shown.map((row) => ({ a: edits(row.counts[0]), b: edits(row.counts[1]), ra: +!wrong(row.counts[0]), rb: +!wrong(row.counts[1]) }));
  const sums = [[0, 0, 0, 0], [0, 0, 0, 0]];
  const changes = [];
  for (const { a, b, ra, rb } of differing) {
    const one = [...a, ra], two = [...b, rb], change = one.map((value, part) => two[part] - value);
    one.forEach((value, part) => { sums[0][part] += value; sums[1][part] += two[part]; });
    if (change.some(Boolean)) changes.push(change);
  }
  const distance = (one, two) => [Math.abs(fScore(one) - fScore(two)), Math.abs(one[3] - two[3])];
  const observed = distance(sums[0], sums[1]), reached = [0, 0];
  let seed = 1;
  const random = () => { seed ^= seed << 13; seed ^= seed >>> 17; seed ^= seed << 5; return seed; };
  for (let draw = 0; draw < DRAWS; draw++) {
    const moved = [0, 0, 0, 0];
    for (let at = 0; at < changes.length; at += 31) {
      const bits = random();
      for (let bit = 0; bit < 31 && at + bit < changes.length; bit++) {
        if (bits >>> bit & 1) { const change = changes[at + bit]; moved[0] += change[0]; moved[1] += change[1]; moved[2] += change[2]; moved[3] += change[3]; }
      }
    }
    distance(sums[0].map((one, part) => one + moved[part]), sums[1].map((one, part) => one - moved[part]))
      .forEach((one, figure) => { reached[figure] += one >= observed[figure] - 1e-12; });
  }
  const words = reached.map((one) => { const p = (one + 1) / (DRAWS + 1); return `p = ${p.toFixed(4)} (${p < 0.01 ? "significant" : "not significant"})`; });
  byId("significance").textContent = `Difference in F-score: ${words[0]}; in sequence accuracy: ${words[1]}. Randomization test, ${DRAWS.toLocaleString("en")} draws, sequences shown.`;
}

function marks(row, bits) {
  // What stands in each gap of a prediction: nothing, a space, or a sign with its class.
  const found = new Map();
  for (let gap = 1; gap < bits.length; gap++) {
    const given = row.given.bits[gap], wanted = given !== row.truth[gap], made = given !== bits[gap];
    if (wanted || made) {
      const sort = wanted && made ? "tp" : made ? "fp" : "fn";
      found.set(gap, { sort, sign: (given ? "⁀" : "␣") + { tp: "✓", fp: "✗", fn: "?" }[sort], words: `${given ? "deletion" : "insertion"}, ${{ tp: "right", fp: "wrong", fn: "missed" }[sort]}` });
    }
  }
  return found;
}

// Lines of at most so many columns, as [first, last + 1], cut between words where there is such a place.
function blocks(length, most, widthOf, mayCut) {
  const starts = [0];
  let used = 0, cut = 0, sinceCut = 0;
  for (let gap = 0; gap < length; gap++) {
    if (mayCut(gap)) { cut = gap; sinceCut = 0; }
    used += widthOf(gap);
    sinceCut += widthOf(gap);
    if (used > most && gap > starts.at(-1)) {
      const isBetween = cut > starts.at(-1);
      starts.push(isBetween ? cut : gap);
      used = isBetween ? sinceCut : widthOf(gap);
    }
  }
  return starts.map((from, at) => [from, starts[at + 1] ?? length]);
}

// How many characters fit next to the longest name, whatever the font and the screen.
function measure() {
  const text = element("span", { class: "text" }, "0".repeat(400));
  const probe = element("article", {}, element("div", { class: "block" }, ...["truth", ...data.methods].flatMap((name) => [element("span", { class: "name" }, name), element("span")]), element("span", { class: "name" }), text));
  byId("sequences").append(probe);
  const before = columns;
  columns = Math.max(16, Math.floor(text.clientWidth / (text.scrollWidth / 400)));
  probe.remove();
  return columns !== before;
}

function article(row, place) {
  const texts = [["input", row.given.bits, null], ["truth", row.truth, null], ...data.methods.map((method, at) => [method, row.done[at], marks(row, row.done[at])])];
  // Gaps that somebody changed, or should have, have room for a sign; all others are as wide as they are.
  const marked = (gap) => texts.some(([, bits, found]) => bits[gap] !== texts[0][1][gap] || (found && found.has(gap)));
  const parts = blocks(row.truth.length, columns, (gap) => (marked(gap) ? 3 : row.truth[gap] ? 2 : 1), (gap) => row.truth[gap]).map(([from, to]) => element("div", { class: "block" }, ...texts.flatMap(([name, bits, found]) => {
    const pieces = [];
    let plain = "";
    for (let gap = from; gap < to; gap++) {
      const mark = found && found.get(gap);
      if (mark) { if (plain) pieces.push(plain); plain = ""; pieces.push(element("span", { class: `mark ${mark.sort}`, title: mark.words, role: "img", "aria-label": mark.words }, element("small", {}, mark.sign))); }
      else if (marked(gap)) plain += bits[gap] ? "  " : "··";
      else if (bits[gap] && gap > from) plain += " ";
      plain += row.given.characters[gap];
    }
    return [element("span", { class: "name", title: name }, name), element("span", { class: "text" }, ...pieces, plain)];
  })));
  const chosen = row.number === state.selected;
  return element("article", { class: chosen ? "selected" : "", id: `sequence-${row.number}`, "data-number": row.number, "aria-current": chosen ? "true" : null, onclick: () => select(place) },
    element("h3", {}, element("a", { href: link({ selected: row.number }) }, `Sequence ${row.number + 1}`), ` · ${row.counts.map((one, at) => `${data.methods[at]}: ${wrong(one) ? `${wrong(one)} wrong` : "right"}`).join(" · ")}`), ...parts);
}

function link(other) {
  const all = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...state, ...other })) if (value !== "" && value !== -1 && value !== null) all.set(key, value);
  return `#${all}`;
}

function draw() {
  const first = state.page * PAGE, page = shown.slice(first, first + PAGE);
  measure();
  byId("sequences").replaceChildren(...page.map((row, place) => article(row, first + place)));
  byId("place").textContent = shown.length ? `${first + 1}–${first + page.length} of ${shown.length}` : "none";
  byId("message").textContent = `${shown.length} of ${data.rows.length} sequences`;
  byId("previous").disabled = state.page === 0;
  byId("next").disabled = first + PAGE >= shown.length;
  history.replaceState(null, "", link({}));
}

function select(place) {
  if (place < 0 || place >= shown.length) return;
  state.selected = shown[place].number;
  state.page = Math.floor(place / PAGE);
  draw();
  byId(`sequence-${state.selected}`).scrollIntoView({ block: "nearest" });
}

function turn(by) {
  const wanted = state.page + by;
  if (wanted < 0 || wanted * PAGE >= shown.length) return;
  select(wanted * PAGE);
  scrollTo(0, 0);
}

function options(select, values, chosen) {
  select.replaceChildren(...values.map(([value, label]) => element("option", { value, selected: value === chosen }, label)));
}

function choices() {
  const names = index.benchmarks.map((one) => one.name);
  if (!names.includes(state.benchmark)) state.benchmark = names[0];
  const { methods, best } = index.benchmarks.find((one) => one.name === state.benchmark);
  if (!methods.includes(state.one)) state.one = best || "";
  if (!methods.includes(state.two)) state.two = "";
  if (!KINDS[state.kind]) state.kind = "all";
  if (!SORTS[state.sort]) state.sort = "number";
  options(byId("benchmark"), names.map((one) => [one, one]), state.benchmark);
  options(byId("one"), methods.map((one) => [one, one]), state.one);
  options(byId("two"), [["", "nothing"], ...methods.map((one) => [one, one])], state.two);
  for (const name of ["kind", "sort", "text"]) byId(name).value = state[name];
}

async function show() {
  try {
    choices();
    byId("message").textContent = "Loading…";
    await load();
    filter();
    if (isFirst && !shown.length) { state.kind = byId("kind").value = "all"; filter(); } // the best method has no errors
    isFirst = false;
    const place = shown.findIndex((row) => row.number === state.selected);
    if (place >= 0) state.page = Math.floor(place / PAGE);
    scores();
    draw();
    if (place >= 0) byId(`sequence-${state.selected}`).scrollIntoView({ block: "center" });
  } catch (error) { tell(error); }
}

function readLink() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of FIELDS) state[name] = given.get(name) ?? { kind: "all", sort: "number" }[name] ?? "";
  // Without a link: what the best method does not repair.
  isFirst = ![...given].length;
  if (isFirst) state.kind = "errors";
  state.page = Math.max(0, parseInt(given.get("page") || "0", 10) || 0);
  state.selected = parseInt(given.get("selected") ?? "-1", 10);
}

async function start() {
  readLink();
  index = await (await fetch("data/index.json")).json();
  if (index.static) document.querySelectorAll(".live").forEach((one) => one.remove());
  if (index.report) document.querySelector("nav").append(element("a", { href: index.report }, "Corpus"));
  if (!index.benchmarks.length) {
    document.querySelectorAll("main > :not(#message)").forEach((one) => one.remove());
    throw new Error("No benchmarks were given. Start the application with --benchmarks DIRECTORY.");
  }
  for (const name of FIELDS) {
    byId(name).addEventListener(name === "text" ? "input" : "change", () => {
      state[name] = byId(name).value; state.page = 0; state.selected = -1;
      if (["benchmark", "one", "two"].includes(name)) show();
      else { filter(); scores(); draw(); }
    });
  }
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("previous").addEventListener("click", () => turn(-1));
  byId("next").addEventListener("click", () => turn(1));
  addEventListener("resize", () => { if (data && measure()) draw(); });
  addEventListener("hashchange", () => { readLink(); show(); });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !data) return;
    if (["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) { if (event.key === "Escape") event.target.blur(); return; }
    const place = shown.findIndex((row) => row.number === state.selected), first = state.page * PAGE;
    const keys = { j: () => select(place < 0 ? first : place + 1), k: () => select(place < 0 ? first : place - 1), n: () => turn(1), p: () => turn(-1), "/": () => byId("text").focus() };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  await show();
}
start().catch(tell);
