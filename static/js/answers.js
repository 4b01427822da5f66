// Kinds of answers that need more than a press: sliders, ticks beside a box, options that stand
// alone, and questions that depend on others. Without it all of them are plain controls.
// It is fetched only by pages that have some; questions may be replaced, so it listens to the form.

const form = document.querySelector("#work");
const change = (control) => control.dispatchEvent(new Event("change", { bubbles: true }));

// --- sliders: the box is what is sent, and the line follows it and sets it ---------

function follow(slide) {
  const line = slide.querySelector("[type=range]");
  const box = slide.querySelector(".number");
  const isSet = /^-?[0-9]+$/.test(box.value.trim());
  line.hidden = false;
  slide.classList.toggle("unset", !isSet);
  if (isSet) line.value = box.value.trim();
  if (isSet) line.removeAttribute("aria-valuetext");
  else line.setAttribute("aria-valuetext", line.dataset.unset);
}

function setFrom(line) {
  const slide = line.closest("[data-slide]");
  const box = slide.querySelector(".number");
  box.value = line.value;
  follow(slide);
  clearTick(box);
}

// a tick that stands in place of a number, and the number, take each other away
const tickOf = (control) => control.closest("[data-question]")?.querySelector("[data-instead]");

function clearTick(box) {
  const tick = tickOf(box);
  if (tick?.checked && box.value.trim()) tick.checked = false;
}

form.addEventListener("input", (event) => {
  const { target } = event;
  if (target.matches("[data-slide] [type=range]")) setFrom(target);
  else if (target.matches(".number")) {
    const slide = target.closest("[data-slide]");
    if (slide) follow(slide);
    clearTick(target);
  }
});

// the first press on a line counts, also where its hidden mark was
form.addEventListener("click", (event) => {
  if (event.target.matches("[data-slide].unset [type=range]")) {
    setFrom(event.target);
    change(event.target);
  }
});

form.addEventListener("keydown", (event) => {
  const { target, key } = event;
  if (!target.matches("[data-slide] [type=range]") || !["Delete", "Backspace"].includes(key)) return;
  event.preventDefault();
  const slide = target.closest("[data-slide]");
  slide.querySelector(".number").value = "";
  follow(slide);
  change(target);
});

form.addEventListener("change", (event) => {
  const { target } = event;
  if (target.matches("[data-instead]") && target.checked) {
    const box = target.closest("[data-question]").querySelector(".number");
    box.value = "";
    const slide = box.closest("[data-slide]");
    if (slide) follow(slide);
  }
  if (target.matches(".ticks [type=checkbox]") && target.checked) standAlone(target);
  ask();
});

// --- an option that can't be beside others ------------------------------------------

function standAlone(ticked) {
  const others = [...ticked.closest(".ticks").querySelectorAll("[type=checkbox]")];
  const isAlone = "alone" in ticked.dataset;
  for (const one of others) {
    if (one !== ticked && (isAlone || "alone" in one.dataset)) one.checked = false;
  }
}

// --- questions that depend on others -----------------------------------------------

const partOf = (element) => element.closest("[data-part]") ?? form;
const prefixOf = (part) => (part === form ? "" : `${part.id}-`);
const NUMBER = /^-?[0-9]+(\.[0-9]+)?$/;
const read = (text) => (NUMBER.test(text) ? Number(text) : text);

// What was answered to the question of this name, as conditions name it; null: nothing. Not by
// FormData, from which a sheet takes out what is saved.
function answerTo(name) {
  const found = [];
  for (const control of form.elements) {
    const { name: posted, value, type } = control;
    const isChosen = !["radio", "checkbox"].includes(type) || control.checked;
    if (control.disabled || !isChosen) continue;
    const { original } = control.dataset;
    if (posted === name && original !== undefined) {
      if (isOther(value, original)) found.push(CHANGED);
    } else if (posted === name && value.trim()) found.push(read(value.trim()));
    else if (posted.startsWith(`${name}.`) && !posted.endsWith(".comment")) {
      const part = posted.slice(name.length + 1);
      // a tick among options is named by its key, a statement by what was said of it
      found.push(type === "checkbox" && value === "1" ? part : read(value));
    }
  }
  return found.length ? found : null;
}

// A question that is not asked has no answer, whatever stands in its controls.
function given(name) {
  const control = [...form.querySelectorAll("[name]")].find(
    (one) => one.name === name || one.name.startsWith(`${name}.`),
  );
  return control && !control.closest("[data-ask-if][hidden]") ? answerTo(name) : null;
}

// --- a text that is corrected ---------------------------------------------------------

// Words count, and no white space, as on the server.
const CHANGED = "changed";
const wordsOf = (text) => text.trim().split(/\s+/).join(" ");
const isOther = (text, original) => wordsOf(text) !== wordsOf(original);

// What was undone comes back by the same button.
const undone = new WeakMap();

function followText(box) {
  const question = box.closest("[data-question]");
  const button = question.querySelector("[data-back]");
  const tick = question.querySelector("[data-same]");
  const isChanged = isOther(box.value, box.dataset.original);
  if (isChanged) undone.delete(box);
  if (isChanged && tick) tick.checked = false;
  question.dataset.complete = isChanged || tick?.checked ? "yes" : "no";
  button.dataset.back ||= button.textContent;
  button.textContent = undone.has(box) ? button.dataset.redo : button.dataset.back;
  button.hidden = !isChanged && !undone.has(box);
  // where a box doesn't grow by itself
  while (!CSS.supports("field-sizing", "content") && box.scrollHeight > box.clientHeight) box.rows += 1;
}

function undo(box) {
  undone.set(box, box.value);
  box.value = box.dataset.original;
}

form.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-back]");
  if (!button) return;
  const box = button.closest("[data-question]").querySelector("[data-original]");
  if (undone.has(box)) box.value = undone.get(box);
  else undo(box);
  change(box);
  box.focus();
});

form.addEventListener("change", ({ target }) => {
  const box = target.closest("[data-question]")?.querySelector("[data-original]");
  if (!box) return;
  // what needs no change has none
  if ("same" in target.dataset && target.checked && isOther(box.value, box.dataset.original)) undo(box);
  followText(box);
});

form.addEventListener("input", ({ target }) => {
  if (target.matches("[data-original]")) followText(target);
});

// What changed, as the server says it of what it was sent last.
form.addEventListener("kept", ({ detail }) => {
  for (const [name, drawn] of Object.entries(detail.changes ?? {})) {
    const place = document.getElementById(`${name}-all`)?.querySelector("[data-changes]");
    if (!place) continue;
    const isOpen = place.querySelector("details").open;
    place.replaceChildren(...new DOMParser().parseFromString(drawn, "text/html").body.childNodes);
    // nothing moves unless one asks
    place.querySelector("details").open = isOpen;
  }
});

// --- conditions -----------------------------------------------------------------------

const SIDES = { first: -1, tie: 0, second: 1 };

// The marks that are posted in one field, as JSON.
function readMarks(text) {
  return String(text).startsWith("[") ? JSON.parse(text) : [];
}

const isOf = (mark, kind) => Object.entries(kind).every(([name, key]) => mark[name] === key);

function isMetBy(condition, answer) {
  if ("answered" in condition) return (answer !== null) === condition.answered;
  if (answer === null) return false;
  if ("changed" in condition) return answer.includes(CHANGED) === condition.changed;
  if (condition.has) return answer.flatMap(readMarks).some((one) => isOf(one, condition.has));
  const said = answer.map((one) => SIDES[one] ?? one);
  const listed = condition.is ?? condition.includes;
  if (listed) return said.some((one) => listed.includes(one));
  const numbers = said.filter((one) => typeof one === "number");
  if ("at_least" in condition) return numbers.some((one) => one >= condition.at_least);
  return numbers.some((one) => one <= condition.at_most);
}

function isMet(condition, prefix, number) {
  if (condition.all) return condition.all.every((one) => isMet(one, prefix, number));
  if (condition.any) return condition.any.some((one) => isMet(one, prefix, number));
  if (condition.not) return !isMet(condition.not, prefix, number);
  const name = `${prefix}${condition.criterion}`;
  if (condition.outputs) {
    const met = listOutputs(name).map((one) => isMetBy(condition, given(one)));
    return condition.outputs === "any" ? met.some(Boolean) : met.length > 0 && met.every(Boolean);
  }
  return isMetBy(condition, (number && given(`${name}-${number}`)) || given(name));
}

function listOutputs(name) {
  const names = new Set([...form.querySelectorAll("[name]")].map((one) => one.name.split(".")[0]));
  return [...names].filter((one) => one === name || one.startsWith(`${name}-`));
}

function ask() {
  for (const asked of form.querySelectorAll("[data-ask-if]")) {
    const part = partOf(asked);
    const isAsked = isMet(JSON.parse(asked.dataset.askIf), prefixOf(part), asked.dataset.of);
    if (asked.hidden === isAsked) asked.hidden = !isAsked;
  }
  globalThis.fit?.();
  form.dispatchEvent(new Event("asked"));
}

function start() {
  form.querySelectorAll("[data-slide]").forEach(follow);
  form.querySelectorAll("[data-original]:enabled").forEach(followText);
  ask();
}

// Words written at an option choose it.
function choose({ target }) {
  if (!("ownWords" in target.dataset) || !target.value.trim()) return;
  const control = target.previousElementSibling.querySelector("input");
  if (control.checked) return;
  control.checked = true;
  control.dispatchEvent(new Event("change", { bubbles: true }));
}

form.addEventListener("replaced", start);
form.addEventListener("input", choose);
form.addEventListener("input", ask);
start();
