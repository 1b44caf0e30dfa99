"use strict";
function card(edit) {
  const words = done(edit.kind);
  const said = element("span", { class: "quiet", role: "status" });
  const buttons = ["accept", "reject"].map((decision) => element("button", { type: "button", "aria-pressed": String(edit.decision === decision), "data-decision": decision }, decision));
  const decide = async (decision) => {
    try {
      const entry = { shard: edit.shard, row: edit.row, gap: edit.gap, kind: edit.kind, decision };
      await ask("api/corpus/review", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(entry) });
      buttons.forEach((one) => one.setAttribute("aria-pressed", String(one.dataset.decision === decision)));
      said.textContent = "saved";
    } catch (error) { said.textContent = error.message; }
  };
  buttons.forEach((one) => one.addEventListener("click", () => decide(one.dataset.decision)));
  const made = element("article", { tabindex: "0", "aria-label": `${words}, row ${edit.row} of ${edit.shard}` }, element("h3", {}, `${edit.shard}, row ${edit.row} · ${words} · confidence ${(100 * edit.confidence).toFixed(1)} %`),
    element("div", { class: "result" }, edit.before, sign(edit.kind), edit.after), element("div", { class: "row" }, ...buttons, said));
  made.addEventListener("keydown", (event) => {
    const next = { j: made.nextElementSibling, k: made.previousElementSibling }[event.key];
    if (next) next.focus();
    if (event.key === "a") decide("accept");
    if (event.key === "r") decide("reject");
  });
  return made;
}

const TOTALS = { edited_documents: "documents changed", insertions: "spaces inserted", deletions: "spaces deleted", dead_letters: "documents failed", edits_per_1000_bytes: "edits per 1,000 bytes" };

async function start() {
  const { summary, edits, notes } = await ask("api/corpus");
  const made = new Date(summary.made), when = isNaN(made) ? summary.made : made.toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" }) + " UTC";
  byId("message").textContent = `${summary.output} · ${when}`;
  byId("content").hidden = false;
  const rows = Object.entries(summary.totals).map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, TOTALS[name] || name.replaceAll("_", " ")), element("td", {}, value.toLocaleString("en"))));
  byId("totals").append(element("table", {}, element("tbody", {}, ...rows)));
  byId("edits").append(...(edits.length ? edits.map(card) : [element("p", { class: "quiet" }, "No edits are known.")]));
  byId("notes").append(...notes.map((one) => element("p", { class: "error" }, one)));
  const letters = summary.dead_letters.map((one) => element("li", {}, `${one.shard}, row ${one.row}: ${one.error}: ${one.message}`, element("div", { class: "result" }, one.text)));
  byId("letters").append(letters.length ? element("ul", {}, ...letters) : element("p", { class: "quiet" }, "none"));
}
start().catch(tell);
