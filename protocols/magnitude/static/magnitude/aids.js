// Aids of magnitude estimation, only where the study turns them on: each score in proportion to
// the standard, the order that the scores imply, slots as chips, a note on identical utterances.

const aids = document.querySelector("[data-aids]");
const words = aids.dataset;
const has = new Set(words.aids.split(" "));
// looked up each time: a refused answer brings new boxes
const findBoxes = () => [...document.querySelectorAll(".trio .number")];

const scoreOf = (box) => (/^[1-9][0-9]{0,5}$/.test(box.value.trim()) ? Number(box.value) : null);

function ratioWords(score) {
  const ratio = score / Number(words.standard);
  if (ratio === 1) return words.same;
  if (ratio === 0.5) return words.half;
  const format = { maximumSignificantDigits: ratio < 100 ? 2 : 3, useGrouping: false };
  return words.times.replace("%s", ratio.toLocaleString("en", format));
}

// "2 > 3 = 1", or nothing until every score is there
function orderWords(scores) {
  if (scores.includes(null)) return "";
  const ranked = scores.map((score, place) => [score, place + 1]).sort((a, b) => b[0] - a[0]);
  const text = ranked.reduce((line, [score, number], place) => {
    if (place === 0) return String(number);
    return `${line} ${score === ranked[place - 1][0] ? "=" : ">"} ${number}`;
  }, "");
  return words.orderWords.replace("%s", text);
}

function showRatios() {
  const boxes = findBoxes();
  const scores = boxes.map(scoreOf);
  boxes.forEach((box, place) => {
    const line = box.closest(".specimen").querySelector("[data-ratio]");
    line.textContent = scores[place] === null ? "" : ratioWords(scores[place]);
  });
  document.querySelector("[data-order]").textContent = orderWords(scores);
}

function noteIdentical() {
  const texts = [...document.querySelectorAll(".trio .text")].map((one) => one.textContent);
  const groups = new Map();
  texts.forEach((text, place) => groups.set(text, [...(groups.get(text) ?? []), place + 1]));
  const same = [...groups.values()].find((numbers) => numbers.length > 1);
  if (!same) return;
  const list = `${same.slice(0, -1).join(", ")} ${words.and} ${same.at(-1)}`;
  const note = aids.querySelector("[data-identical]");
  note.textContent = words.identicalWords.replace("%s", list);
  note.hidden = false;
}

// A chip is the very text of the slot: only its brackets are out of sight, so that copying gives
// name[value] back, letter by letter.
function makeChips(text) {
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (const node of nodes) {
    const parts = node.textContent.split(/([^[\],]+\[[^[\]]*\])/);
    node.replaceWith(...parts.map((part, place) => (place % 2 ? makeChip(part) : part)));
  }
}

function makeChip(slot) {
  const [, space, name, value] = slot.match(/^(\s*)([^[]+)\[(.*)\]$/s);
  const chip = document.createElement("span");
  chip.className = "chip";
  const title = document.createElement("span");
  title.className = "slot";
  title.textContent = name;
  chip.append(title, bracket("["), value, bracket("]"));
  const whole = document.createDocumentFragment();
  whole.append(space, chip);
  return whole;
}

function bracket(sign) {
  const element = document.createElement("i");
  element.textContent = sign;
  return element;
}

if (has.has("chips")) document.querySelectorAll(".mr").forEach(makeChips);
if (has.has("identical")) noteIdentical();
if (has.has("ratio")) {
  showRatios();
  document.addEventListener("input", showRatios);
}
