"use strict";
const EXAMPLES = {
  "wrong words": "Thealgo rithm isfast, and it chan ges nothing else.",
  "text of a PDF": "Theresults ar e shown inTable 2, and they sug gest that\nthe sec ond method isbetter thanthe first: it finds 9 8 % of\nall er rors (see Sec tion 4), with outany training.",
  "all spaces lost": "whenthetextlayerofascannedpageisbad,awholelinecanloseallofitsspaces",
  "code stays as it is": "Tocount thewords of a fi le, use this func tion:\n\ndef count(path):\n    return len(open(path).read().split())\n\nIt isslow forlarge files.",
};
let methods = {}, repaired = "", turn = 0, waiting = null;

function sliders() {
  const own = methods[byId("method").value];
  for (const kind of ["insertion", "deletion"]) {
    byId(kind).disabled = !own;
    if (own) { byId(kind).value = own[kind]; byId(kind).dataset.own = byId(kind).value; }
    byId(`${kind}-value`).textContent = own ? byId(kind).value : "none";
  }
}

function request() {
  const found = { text: byId("input").value, method: byId("method").value, all_text: byId("all_text").checked };
  for (const kind of ["insertion", "deletion"]) {
    // Only what was moved is sent: the model's own may lie between two steps of the slider.
    if (!byId(kind).disabled && byId(kind).value !== byId(kind).dataset.own) found[`${kind}_penalty`] = Number(byId(kind).value);
  }
  return found;
}

function show(text, answer) {
  const { characters, bits, blanks } = split(text);
  const edits = new Map(answer.edits.map((one) => [one.gap, one]));
  const reasons = new Array(characters.length).fill("");
  for (const one of answer.left_alone) reasons.fill(one.reason, one.start, one.stop);
  const pieces = [];
  let plain = "";
  const flush = () => { if (plain) pieces.push(plain); plain = ""; };
  characters.forEach((character, gap) => {
    const edit = edits.get(gap);
    if (edit) {
      flush();
      pieces.push(sign(edit.kind, `, confidence ${(100 * edit.confidence).toFixed(1)} %`));
    } else plain += blanks[gap];
    plain += character;
  });
  flush();
  byId("result").replaceChildren(...pieces);
  const spaced = bits.map((bit, gap) => (edits.has(gap) ? edits.get(gap).kind === "insertion" : bit));
  const words = (from, to) => characters.slice(from, to).map((one, at) => (at && spaced[from + at] ? " " : "") + one).join("");
  const inside = (gap) => gap > 0 && gap < characters.length && !spaced[gap];
  const around = ({ gap, kind }) => {
    let from = Math.max(0, gap - 16), to = Math.min(characters.length, gap + 16);
    // Whole words, if they are not endless.
    for (const limit = from - 16; inside(from) && from > limit; from--);
    for (const limit = to + 16; inside(to) && to < limit; to++);
    return [(from ? "… " : "") + words(from, gap), sign(kind), words(gap, to) + (to < characters.length ? " …" : "")];
  };
  const rows = answer.edits.slice(0, 500).map((one) => element("tr", {}, element("td", {}, ...around(one)), element("td", {}, one.kind === "insertion" ? "inserted" : "deleted"), element("td", {}, `${(100 * one.confidence).toFixed(1)} %`)));
  byId("edits").replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...["where", "space", "confidence"].map((name) => element("th", { scope: "col" }, name)))), element("tbody", {}, ...rows)));
  const left = answer.left_alone.slice(0, 200).map((one) => element("li", {}, `${one.reason}: ${words(one.start, Math.min(one.stop, one.start + 60))}${one.stop > one.start + 60 ? "…" : ""}`));
  byId("left").replaceChildren(...(left.length ? left : [element("li", {}, "nothing")]));
}

async function repair() {
  const mine = ++turn, wanted = request();
  byId("message").textContent = "Repairing…";
  byId("message").className = "quiet";
  try {
    const answer = await ask("api/repair", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(wanted) });
    if (mine !== turn) return;
    repaired = answer.text;
    show(wanted.text, answer);
    byId("message").textContent = `${answer.edits.length} ${answer.edits.length === 1 ? "edit" : "edits"} by ${wanted.method}`;
    byId("message").title = answer.identity;
  } catch (error) {
    if (mine !== turn) return;
    tell(error);
    if (!error.retryAfter) return;
    byId("message").className = "quiet"; // it is loading, or busy
    setTimeout(() => mine === turn && repair(), 1000 * error.retryAfter);
  }
}

function soon() { clearTimeout(waiting); waiting = setTimeout(repair, 250); }

async function open(file) {
  if (!file) return;
  try {
    const isPdf = file.name.toLowerCase().endsWith(".pdf");
    if (!isPdf && !file.name.toLowerCase().endsWith(".txt")) throw new Error(`${file.name}: expected a .txt or .pdf file`);
    byId("message").textContent = `Reading ${file.name}…`;
    byId("input").value = isPdf ? (await ask("api/pdf", { method: "POST", body: file })).text : await file.text();
    repair();
  } catch (error) { tell(error); }
}

async function start() {
  methods = await ask("api/methods");
  byId("method").append(...Object.keys(methods).map((name) => element("option", { value: name }, name)));
  byId("examples").append(...Object.entries(EXAMPLES).map(([name, text]) => element("button", { type: "button", onclick: () => { byId("input").value = text; repair(); } }, name)));
  sliders();
  byId("method").addEventListener("change", () => { sliders(); repair(); });
  byId("input").addEventListener("input", soon);
  byId("all_text").addEventListener("change", repair);
  for (const kind of ["insertion", "deletion"]) byId(kind).addEventListener("input", () => { byId(`${kind}-value`).textContent = byId(kind).value; soon(); });
  byId("file").addEventListener("change", () => open(byId("file").files[0]));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => { event.preventDefault(); open(event.dataTransfer.files[0]); });
  byId("copy").addEventListener("click", () => navigator.clipboard.writeText(repaired).then(() => { byId("message").textContent = "Copied."; }, () => { byId("message").textContent = "The browser did not allow to copy."; }));
  byId("download").addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([repaired], { type: "text/plain" }));
    element("a", { href: address, download: "repaired.txt" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
  repair();
}
start().catch(tell);
