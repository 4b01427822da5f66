// Aids of comparing two responses, only where the study turns them on: slots as chips, the words
// that only one response has underlined, a note on identical responses.

const aids = document.querySelector("[data-aids]");
const has = new Set(aids.dataset.aids.trim().split(" "));
const responses = [...document.querySelectorAll(".pair .text")];

const SLOT = /(\[[a-z0-9]+(?:_[a-z0-9]+)+\])/;

function show(note) {
  aids.querySelector(`[data-${note}]`).hidden = false;
}

function textNodesOf(element) {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  return nodes;
}

// A chip keeps the very text of its slot, out of sight, so that copying gives [slot_name] back.
function makeChip(slot) {
  const name = slot.slice(1, -1).replaceAll("_", " ");
  const chip = document.createElement("span");
  chip.className = "chip";
  chip.dataset.name = name;
  chip.title = slot;
  chip.setAttribute("role", "img");
  chip.setAttribute("aria-label", aids.dataset.later.replace("%s", name));
  const raw = document.createElement("i");
  raw.textContent = slot;
  chip.append(raw);
  return chip;
}

// Whatever is not well formed, such as an open bracket, stays as it was uploaded.
function makeChips(element) {
  let found = false;
  for (const node of textNodesOf(element)) {
    const parts = node.textContent.split(SLOT);
    if (parts.length === 1) continue;
    found = true;
    node.replaceWith(...parts.map((part, place) => (place % 2 ? makeChip(part) : part)));
  }
  return found;
}

const wordsOf = (element) => element.textContent.split(/(\s+)/);

function underline(word) {
  const element = document.createElement("u");
  element.textContent = word;
  return element;
}

// The words are compared before any of them is marked.
function underlineDifferences() {
  const words = responses.map(wordsOf);
  const known = words.map((list) => new Set(list));
  let found = false;
  responses.forEach((response, place) => {
    const other = known[1 - place];
    const isOwn = (word) => word.trim() !== "" && !other.has(word);
    found ||= words[place].some(isOwn);
    response.replaceChildren(
      ...words[place].map((word) => (isOwn(word) ? underline(word) : word)),
    );
  });
  if (found) show("differ");
}

if (has.has("identical") && responses[0].textContent === responses[1].textContent) {
  show("identical");
}
if (has.has("differences")) underlineDifferences();
if (has.has("chips")) {
  const texts = [...document.querySelectorAll(".dialogue .text"), ...responses];
  if (texts.map(makeChips).includes(true)) show("key");
}
