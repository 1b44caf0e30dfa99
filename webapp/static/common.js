"use strict";
// Text is characters and gap bits, as in respace/gaps.py; whitespace is what Python calls so.
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

function split(text) {
  const characters = [], bits = [], blanks = [];
  let space = "";
  for (const one of text) {
    if (SPACE.test(one)) { space += one; continue; }
    bits.push(space !== "" && characters.length > 0);
    blanks.push(space);
    characters.push(one);
    space = "";
  }
  return { characters, bits, blanks };
}

// Elements are made here and nowhere else: whatever comes from a text is a text node, never markup.
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

const done = (kind) => `space ${kind === "insertion" ? "inserted" : "deleted"}`;

// The sign of an edit, which says in words what it means.
function sign(kind, more = "") {
  const words = done(kind) + more;
  return element("span", { class: `mark ${kind === "insertion" ? "ins" : "del"}`, title: words, role: "img", "aria-label": words }, kind === "insertion" ? "␣" : "⁀");
}

function tell(error) {
  byId("message").textContent = error.message;
  byId("message").className = "error";
}

async function ask(address, options) {
  const response = await fetch(address, options);
  const content = await response.json().catch(() => ({ error: `the server answered ${response.status}` }));
  if (!response.ok) {
    const error = new Error(content.error || `the server answered ${response.status}`);
    error.retryAfter = Number(response.headers.get("retry-after"));
    throw error;
  }
  return content;
}

const byId = (name) => document.getElementById(name);
