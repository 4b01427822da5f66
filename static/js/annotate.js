// The rating page: keys, drafts, time, and the place that is kept.
// The page is a plain form that can be sent without any of this.

const form = document.querySelector("#work");
const words = form.dataset;
const statusLine = document.querySelector("#status");
const main = form.querySelector(".dock .main");
const unsaved = document.querySelector("#unsaved");
const { title } = document;
let questions = [...form.querySelectorAll("[data-question]")];
const loadedAt = performance.now();

const say = (text) => {
  if (statusLine.textContent !== text) statusLine.textContent = text;
};

// What the server says goes on to the script of a sheet; false if it stays on this page.
const tell = (name, detail) =>
  form.dispatchEvent(new CustomEvent(name, { detail, cancelable: true }));

// --- what a browser may refuse to keep -----------------------------------------

function remember(store, key, text) {
  try {
    if (text === null) store().removeItem(key);
    else store().setItem(key, text);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
}

function recall(store, key) {
  try {
    return store().getItem(key);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    return null;
  }
}

const local = () => localStorage;
const tab = () => sessionStorage;

// --- questions -------------------------------------------------------------------

const CONTROLS = "input:enabled:not([type=range]), textarea:enabled, select:enabled";
const controlsOf = (question) => [...question.querySelectorAll(CONTROLS)];
const isChoice = (control) => ["radio", "checkbox"].includes(control.type);

// A question with several controls may need an answer in more than one of them.
function isAnswered(question) {
  if (question.dataset.complete) return question.dataset.complete === "yes";
  const answered = controlsOf(question).filter((one) => (isChoice(one) ? one.checked : one.value.trim()));
  const names = new Set(answered.map((one) => one.name).filter(Boolean));
  return names.size >= Number(question.dataset.needed ?? 1);
}

// On a sheet each part has an item of its own; else the whole page has one.
const partOf = (element) => element?.closest("[data-part]") ?? form;
const isAsked = (question) => !question.closest("[data-ask-if][hidden]");
const questionsOf = (part) => questions.filter((one) => part.contains(one) && isAsked(one));

function nextUnanswered(after = null) {
  const own = after ? questionsOf(partOf(after)) : questions.filter(isAsked);
  const open = own.filter((one) => !isAnswered(one));
  return open.find((one) => own.indexOf(one) > own.indexOf(after)) ?? open[0];
}

let current = null;

function setCurrent(question) {
  current = question;
  for (const one of questions) one.classList.toggle("current", one === question);
}

function goTo(question) {
  const controls = controlsOf(question);
  (controls.find((one) => one.checked) ?? controls[0])?.focus();
  question.scrollIntoView({ block: "nearest" });
  setCurrent(question);
  isReading = false;
}

form.addEventListener("focusin", (event) => {
  const question = event.target.closest("[data-question]");
  if (question) setCurrent(question);
  // the heading of a part stands for its first question without an answer
  else if (event.target.matches("[data-part] h2")) {
    const own = questionsOf(partOf(event.target));
    setCurrent(own.find((one) => !isAnswered(one)) ?? own[0]);
  }
});

// --- keys ------------------------------------------------------------------------

const keysDialog = document.querySelector("#keys");
const switches = {};

for (const box of document.querySelectorAll("[data-switch]")) {
  const key = `evalsite:${box.dataset.switch}`;
  box.checked = (recall(local, key) ?? box.dataset.default) === "on";
  switches[box.dataset.switch] = box;
  box.addEventListener("change", () => {
    remember(local, key, box.checked ? "on" : "off");
    obeySwitches();
  });
}

function obeySwitches() {
  form.classList.toggle("keys-on", switches.keys.checked);
  form.classList.toggle("no-notes", switches.notes?.checked === false);
}
obeySwitches();

const opener = document.querySelector("[data-open=keys]");
opener.addEventListener("click", () => keysDialog.showModal());

function step(by) {
  const asked = questions.filter(isAsked);
  const place = asked.indexOf(current);
  if (place < 0) goTo(nextUnanswered() ?? asked[0]);
  else goTo(asked[Math.min(Math.max(place + by, 0), asked.length - 1)]);
}

const press = (selector) => document.querySelector(selector)?.click();
const pressHere = (selector) => partOf(current).querySelector(selector)?.click();

// the comment on the current question
function openComment() {
  const name = current?.id.replace(/-all$/, "");
  const comment = form.querySelector(name ? `[data-comment="${CSS.escape(name)}"] .open` : ".asked .open");
  if (!comment) return;
  comment.open = true;
  comment.querySelector("textarea").focus();
}

// from the questions to the texts, and back to where one was
let isReading = false;

function goToTexts() {
  const text = partOf(current).querySelector("[data-read]");
  if (!text) return;
  isReading = true;
  text.scrollIntoView({ block: "start" });
}

const goBack = () => goTo(current ?? questions[0]);

const commands = {
  c: openComment,
  j: () => step(1),
  k: () => step(-1),
  e: () => press("#examples"),
  i: () => press("#ignore"),
  u: () => press("#undo"),
  v: () => (isReading ? goBack() : goToTexts()),
  x: () => press("#report") ?? pressHere(".report"),
  "?": () => keysDialog.showModal(),
};

function isOutOfView(part) {
  const { top, bottom } = part.getBoundingClientRect();
  return top >= innerHeight || bottom <= 0;
}

const keyed = (question, key) =>
  question && controlsOf(question).find((one) => one.dataset.key === key);

function choose(key) {
  // a digit answers the current question; a letter the question that offers it
  const first = current ?? nextUnanswered() ?? questions[0];
  const own = questionsOf(partOf(first));
  const choices = /[0-9]/.test(key) ? [first] : [first, ...own];
  const asked = choices.find((one) => keyed(one, key));
  if (!asked) return false;
  if (isOutOfView(partOf(asked))) {
    // nobody answers what they don't see
    goTo(asked);
    return true;
  }
  const control = keyed(asked, key);
  control.checked = control.type === "radio" || !control.checked;
  control.focus();
  setCurrent(asked);
  control.dispatchEvent(new Event("change", { bubbles: true }));
  // of several options more may be ticked: j goes on
  if (control.type === "checkbox") return true;
  const next = nextUnanswered(asked);
  if (next) goTo(next);
  return true;
}

// The link under a turn leads to the next one; here to the next that still has an open question.
form.addEventListener("click", (event) => {
  const turn = event.target.closest("[data-next-turn]")?.closest(".turn");
  if (!turn) return;
  const others = questionsOf(partOf(turn)).filter((one) => one.closest(".turn") !== turn && !isAnswered(one));
  const isAfter = (one) => turn.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING;
  const next = others.find(isAfter) ?? others[0];
  if (!next) return;
  event.preventDefault();
  goTo(next);
  (next.closest(".turn") ?? next).scrollIntoView({ block: "start" });
});

// After a tap or a click the next question comes into view, as it does after a key.
form.addEventListener("change", (event) => {
  const answered = event.target.closest("[data-question]");
  if (event.target.type !== "radio" || !answered || !isAnswered(answered)) return;
  const next = nextUnanswered(answered);
  if (!next) return;
  next.scrollIntoView({ block: "nearest" });
  setCurrent(next);
});

// --- moving on automatically -----------------------------------------------------------

// Only the answer that completes an item moves on, only if it was a choice, and only after a moment
// in which nothing else is touched. An item that opens complete, or again by Undo, stays.
const MOMENT = 600;
const MOVED = "evalsite:moved";
const isOptional = (question) => question.closest("[data-optional]") !== null;
const isComplete = (part) => questionsOf(part).every((one) => isAnswered(one) || isOptional(one));
const settled = new Set([...new Set(questions.map(partOf))].filter(isComplete));
let moveTimer = null;

form.addEventListener("change", (event) => {
  const part = partOf(event.target);
  if (event.target.type !== "radio" || !switches.advance?.checked || settled.has(part)) return;
  if (!isComplete(part) || form.elements.note?.value) return;
  settled.add(part);
  moveTimer = setTimeout(() => {
    if (part.dataset.part) remember(tab, MOVED, JSON.stringify([part.dataset.part, part.id]));
    save();
  }, MOMENT);
});

// the events of the choice itself come before the change that starts the moment
for (const use of ["pointerdown", "keydown", "input"]) {
  document.addEventListener(use, () => clearTimeout(moveTimer), { capture: true });
}

// On a sheet, "Question 4 saved. Undo" after a move that was not asked for by a press of the button;
// a page with one item says that by itself.
function offerUndo(isTold) {
  const moved = JSON.parse(recall(tab, MOVED) ?? "null");
  remember(tab, MOVED, null);
  if (!moved) return;
  const undo = document.createElement("a");
  undo.id = "undo";
  undo.href = `#${moved[1]}`;
  undo.textContent = words.undo;
  // that an answer from another tab was replaced comes first
  if (isTold) statusLine.append(" ", undo);
  else statusLine.replaceChildren(words.moved.replace("%s", moved[0]), " ", undo);
}

// Typing a score with no box chosen: the first empty box takes the very same key press.
function startTyping(key) {
  if (!/^[0-9]$/.test(key)) return;
  const empty = questions.find((one) => one.querySelector(".number:enabled") && !isAnswered(one));
  if (empty) goTo(empty);
}

const save = () => form.querySelector(".dock .main").click();

function onEnter(event) {
  const { target } = event;
  if (target.matches("textarea") ? !event.ctrlKey : target.matches("a, button, summary, select")) {
    return;
  }
  if (event.repeat || event.altKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const boxes = [...form.querySelectorAll(".number:enabled")];
  const next = boxes[boxes.indexOf(target) + 1];
  if (boxes.includes(target) && next) next.focus();
  else save();
}

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.defaultPrevented) return;
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Enter") {
    onEnter(event);
    return;
  }
  if (event.ctrlKey || event.altKey || event.metaKey || !switches.keys.checked) return;
  if (event.target.matches("select, textarea, input:not([type=radio], [type=checkbox])")) return;
  const key = event.key.toLowerCase();
  if (commands[key]) {
    event.preventDefault();
    commands[key](event);
  } else if (choose(key)) event.preventDefault();
  else startTyping(key);
});

// --- drafts ----------------------------------------------------------------------

// after a lapse an item may come back with its outputs in other places: that page has no copy
const key = `evalsite:draft:${location.pathname}:${words.arranged}`;
const PAUSES = [1000, 2000, 4000, 8000];

let timer = null;
let tries = 0;
// how long the server asked us to wait when it had no time for us, in ms
let askedPause = 0;
let underway = null;
let isChanged = false;
let seen = null;
// a save on its way, the button of one that has not arrived yet, and whether to send plainly
let isSaving = false;
let pending = null;
let isPlain = false;

const isHidden = (name) =>
  form.querySelector(`[name="${name}"]`).matches("[type=hidden]:not([data-kept])");
const answers = () => [...new FormData(form)].filter(([name]) => !isHidden(name));

function onChange() {
  const entered = JSON.stringify(answers());
  // a box that loses the focus sends once more what is known
  if (!words.draft || entered === seen) return;
  seen = entered;
  isChanged = true;
  // what is being changed is not sent before the button is pressed again
  pending = null;
  unsaved.hidden = true;
  remember(local, key, entered);
  if (!isSaving) wait(600);
}

function wait(pause, then = sendDraft) {
  clearTimeout(timer);
  timer = setTimeout(then, pause);
}

function tryAgainLater(then = sendDraft) {
  isChanged = true;
  say(words.unsaved);
  // trouble that lasts gets a line of its own
  if (tries) showUnsaved();
  wait(Math.max(PAUSES[Math.min(tries++, PAUSES.length - 1)], askedPause), then);
}

// One at a time, so that none overtakes another.
function sendDraft() {
  clearTimeout(timer);
  underway ??= postDraft().finally(() => (underway = null));
  return underway;
}

async function postDraft() {
  isChanged = false;
  fillIn();
  const response = await post(words.draft, 15_000);
  if (isAway(response)) {
    tryAgainLater();
    return;
  }
  tries = 0;
  if (response.ok || response.status === 409) await noteSaved(response);
  else say(words.refused);
  if (isChanged) wait(600);
}

async function noteSaved(response) {
  const kept = await response.json();
  if (!isChanged) remember(local, key, null);
  unsaved.hidden = true;
  if (!response.ok) {
    tell("kept", kept);
    say(words.lapsed);
    return;
  }
  say(savedNow());
  tell("kept", kept);
  const { lease_until: until, is_final: isFinal } = kept;
  if (until) keepUntil(until, response.headers.get("Date"), isFinal);
}

function savedNow() {
  const time = new Date().toLocaleTimeString([], {
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  // on a sheet each part has its own tick
  if (form.matches(".sheet")) return `${words.saved} ${time}`;
  const needed = questions.filter((one) => isAsked(one) && !isOptional(one));
  const answered = needed.filter(isAnswered).length;
  return answered < needed.length
    ? words.some.replace("%1", answered).replace("%2", needed.length)
    : words.all.replace("%s", time);
}

async function post(address, patience, button = null, options = {}, sent = form) {
  const body = new URLSearchParams(new FormData(sent));
  if (button?.name) body.set(button.name, button.value);
  const slow = setTimeout(() => say(words.saving), 300);
  const headers = { Accept: "application/json" };
  const response = await ask(address, patience, { method: "POST", body, headers, ...options });
  clearTimeout(slow);
  if (response) askedPause = 1000 * (Number(response.headers.get("Retry-After")) || 0);
  return response;
}

// The answer, or null where none came.
async function ask(address, patience, options = {}) {
  const signal = AbortSignal.timeout(patience);
  try {
    return await fetch(address, { redirect: "manual", ...options, credentials: "omit", signal });
  } catch (error) {
    if (error instanceof TypeError || error instanceof DOMException) return null;
    throw error;
  }
}

const parse = async (response) =>
  new DOMParser().parseFromString(await response.text(), "text/html");

// a success in other words than ours is some network's own page
const isAway = (response, kind = "json") =>
  response === null ||
  response.status >= 500 ||
  [408, 429].includes(response.status) ||
  (response.ok && !response.headers.get("Content-Type")?.includes(kind));

// What never reached the server comes back, unless the server shows what it was sent last.
function restore() {
  const sent = recall(tab, "evalsite:sent");
  remember(tab, "evalsite:sent", null);
  const isKnown = "ignored" in words || document.querySelector(".problem[autofocus]");
  if (sent && (sent !== key || isKnown)) remember(local, sent, null);
  const kept = recall(local, key);
  if (!kept || !words.draft) return;
  let isBack = false;
  for (const [name, value] of JSON.parse(kept)) {
    for (const control of form.querySelectorAll(`[name="${name}"]:enabled`)) {
      if (isChoice(control)) {
        if (control.value !== value || control.checked) continue;
        control.checked = true;
      } else {
        if (control.value === value) continue;
        control.value = value;
      }
      isBack = true;
    }
  }
  if (!isBack) return;
  say(words.restored);
  tell("restored");
  onChange();
}

form.addEventListener("input", onChange);
form.addEventListener("change", onChange);

// --- sending ---------------------------------------------------------------------

// The page stays until the server has the answer: else the browser's own error page would take the
// place of the answers. What is tried again is the same form, so it is stored once.
form.addEventListener("submit", (event) => {
  fillIn();
  if ("check" in words && event.submitter?.value !== "skip" && !isPlain) {
    event.preventDefault();
    check(event.submitter ?? main);
    return;
  }
  if (isPlain || !words.draft) {
    clearTimeout(timer);
    isChanged = false;
    remember(tab, "evalsite:sent", key);
    return;
  }
  event.preventDefault();
  send(event.submitter ?? main);
});

async function send(button) {
  pending = button;
  if (isSaving) return;
  isSaving = true;
  clearTimeout(timer);
  await underway;
  clearTimeout(timer);
  isChanged = false;
  const response = await post(form.action, 30_000, button);
  if (isAway(response)) {
    isSaving = false;
    keepTrying();
    return;
  }
  if (response.ok) await goOn(response);
  else if (response.status === 422) await showErrors(response);
  else sendPlainly(button);
}

// The page that says what is wrong comes in place of this one, question by question: so the browser
// has no page to send once more after Back.
async function showErrors(response) {
  const page = await parse(response);
  isSaving = false;
  pending = null;
  const problem = page.querySelector(".problem");
  document.title = page.title;
  say(page.querySelector("#status").textContent);
  form.querySelector(".problem")?.remove();
  if (!tell("refused", page)) {
    questions = [...form.querySelectorAll("[data-question]")];
    setCurrent(questions.find((one) => one.matches(".bad")) ?? null);
    return;
  }
  const answered = page.querySelectorAll("[data-refresh]");
  [...form.querySelectorAll("[data-refresh]")].forEach((old, place) => {
    old.replaceWith(answered[place]);
  });
  questions = [...form.querySelectorAll("[data-question]")];
  tell("replaced");
  form.querySelector(".notices").prepend(problem);
  globalThis.fit?.();
  setCurrent(nextUnanswered());
  scrollTo(0, 0);
  problem.focus();
}

// What was at fault has an answer now: it leaves the list, and nothing moves. What is typed is
// awaited, and so is what other scripts make of it.
form.addEventListener("change", ({ target }) => setTimeout(mend, 0, target));
form.addEventListener("input", ({ target }) => "kept" in target.dataset && setTimeout(mend, 0, target));

function mend(changed) {
  const problem = partOf(changed).querySelector(".problem");
  for (const link of problem?.querySelectorAll("li:not(.mended) a") ?? []) {
    const control = document.getElementById(link.hash.slice(1));
    const box = control.closest("[data-refresh]") ?? control.parentElement;
    const asked = questions.filter((one) => box.contains(one));
    const isMended = asked.length ? asked.every(isAnswered) : control.value?.trim();
    if (!box.contains(changed) || !isMended) continue;
    box.classList.add("mended");
    link.parentElement.classList.add("mended");
    link.closest("ul").append(link.parentElement);
  }
  if (!problem || problem.querySelector("li:not(.mended)")) return;
  problem.classList.add("mended");
  if (!form.querySelector(".problem:not(.mended)")) document.title = title;
}

// Practice: the verdicts come at the questions of this very page, with the button that goes on.
async function check(button) {
  if (isSaving) return;
  isSaving = true;
  const response = await post(form.action, 30_000, button, { redirect: "follow", headers: {} });
  isSaving = false;
  if (isAway(response, "html")) say(words.unreachable);
  else if (response.status === 422) await showErrors(response);
  else if (new URL(response.url).pathname === location.pathname) showVerdicts(await parse(response));
  else location.assign(response.url);
}

function showVerdicts(page) {
  const explained = page.querySelector("#work");
  // a question that wasn't asked gets no verdict either
  const unasked = [...form.querySelectorAll("[data-ask-if]")].map((one) => one.hidden);
  for (const part of [".qs", ".dock"]) {
    const parts = explained.querySelectorAll(part);
    [...form.querySelectorAll(part)].forEach((old, place) => old.replaceWith(parts[place]));
  }
  form.querySelectorAll("[data-ask-if]").forEach((one, place) => (one.hidden = unasked[place]));
  form.querySelector(".problem")?.remove();
  globalThis.fit?.();
  form.action = explained.action;
  delete words.check;
  questions = [...form.querySelectorAll("[data-question]")];
  document.title = page.title;
  lookAtVerdicts();
}

// In practice: as many verdicts as fit, the first above all.
function lookAtVerdicts() {
  const verdicts = form.querySelectorAll(".feedback");
  if (!verdicts.length) return;
  verdicts[verdicts.length - 1].scrollIntoView({ block: "nearest", behavior: "instant" });
  verdicts[0].scrollIntoView({ block: "nearest", behavior: "instant" });
  form.querySelector(".dock .main").focus({ preventScroll: true });
}

function showUnsaved() {
  if (!unsaved.hidden) return;
  unsaved.hidden = false;
  globalThis.fit?.();
}

function keepTrying() {
  // none is pending if something was changed meanwhile
  tryAgainLater(pending ? () => send(pending) : sendDraft);
  if (pending) showUnsaved();
}

async function goOn(response) {
  const said = await response.json();
  if (!isChanged) remember(local, key, null);
  if (!tell("saved", said)) {
    // pressed again for what was entered meanwhile
    const again = isChanged && pending;
    isSaving = false;
    pending = null;
    tries = 0;
    unsaved.hidden = true;
    say(said.status || savedNow());
    offerUndo(Boolean(said.status));
    if (said.lease_until) keepUntil(said.lease_until, response.headers.get("Date"));
    if (again) send(again);
    else if (isChanged) wait(600);
    return;
  }
  const { next } = said;
  const { pathname, search } = new URL(next, location.href);
  // an address that differs in its fragment alone would load nothing
  if (pathname + search === location.pathname + location.search) location.reload();
  else location.assign(next);
}

// Whatever else the server says is for the person to read; nothing was stored.
function sendPlainly(button) {
  isSaving = false;
  isPlain = true;
  form.requestSubmit(button);
}

unsaved?.querySelector("button").addEventListener("click", () => {
  if (pending) send(pending);
  else sendDraft();
});

// An ignored item leaves no copy behind; the page of an item that is not ignored after all has it.
document.querySelector("#ignore")?.addEventListener("click", () => {
  remember(tab, "evalsite:sent", key);
});

addEventListener("pagehide", () => {
  // a browser may show this very page again
  isSaving = isPlain = false;
  if (!words.draft || !isChanged) return;
  const body = new URLSearchParams(new FormData(form));
  // nobody is left to tell whether it arrived; if it did not, the copy in local storage stays
  const options = { method: "POST", body, credentials: "omit", keepalive: true };
  fetch(words.draft, options).catch(() => null);
});

// --- time ------------------------------------------------------------------------

const IDLE = 60_000;
let activeMs = 0;
let usedAt = document.hidden ? null : performance.now();
let firstMs = null;

// The time since the last use counts, but never more than a minute of it.
function countUse() {
  const now = performance.now();
  if (usedAt !== null) activeMs += Math.min(now - usedAt, IDLE);
  usedAt = document.hidden ? null : now;
}

for (const use of ["pointerdown", "pointermove", "keydown", "wheel", "touchstart", "scroll"]) {
  addEventListener(use, countUse, { passive: true, capture: true });
}
document.addEventListener("visibilitychange", () => {
  countUse();
  checkLease();
});
form.addEventListener("input", () => (firstMs ??= performance.now() - loadedAt));
form.addEventListener("change", () => (firstMs ??= performance.now() - loadedAt));

function fillIn() {
  countUse();
  const width = ["narrow", "medium", "wide"][
    matchMedia("(min-width: 62em)").matches + matchMedia("(min-width: 44em)").matches
  ];
  const turn = matchMedia("(orientation: portrait)").matches ? "portrait" : "landscape";
  form.elements.device.value = `${width}-${turn}`;
  if (!form.elements.client_ms) return;
  form.elements.client_ms.value = Math.round(performance.now() - loadedAt);
  form.elements.active_ms.value = Math.round(activeMs);
  form.elements.first_ms.value = firstMs === null ? "" : Math.round(firstMs);
}

// --- the place that is kept --------------------------------------------------------

const still = document.querySelector("#still");
const WARNING = 5 * 60_000;
let lapsesAt = null;
let warnsAt = null;
let mayKeep = true;
let leaseTimer = null;

// Only the time that is left comes from the server: the browser's clock may be wrong by years.
// Where only an answer can keep the place, a message says so instead of a question.
function keepUntil(until, serverNow, isFinal = false) {
  const left = Date.parse(until) - Date.parse(serverNow);
  if (!still || Number.isNaN(left)) return;
  lapsesAt = Date.now() + left;
  warnsAt = lapsesAt - Math.min(WARNING, left / 2);
  mayKeep = !isFinal;
  checkLease();
}

function checkLease() {
  clearTimeout(leaseTimer);
  if (lapsesAt === null) return;
  const now = Date.now();
  if (now >= lapsesAt) {
    still.close();
    say(words.lapsed);
    return;
  }
  if (now >= warnsAt && !mayKeep) {
    say(words.ending);
  } else if (now >= warnsAt && !still.open) {
    keysDialog.close();
    reporting?.close();
    still.showModal();
  }
  leaseTimer = setTimeout(checkLease, (now < warnsAt ? warnsAt : lapsesAt) - now + 50);
}

still?.addEventListener("close", () => {
  if (Date.now() >= lapsesAt) return;
  if (pending) send(pending);
  else sendDraft();
});

// --- reporting a problem --------------------------------------------------------------

// The form comes from its own page when it is first asked for. Anything else that is there instead
// is for the person to read.
const reportLink = document.querySelector("#report");
const reported = document.querySelector("#reported");
let reporting = null;
let report = null;

reportLink?.addEventListener("click", async (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  reportLink.closest("details").removeAttribute("open");
  if (!reporting) {
    const response = await ask(reportLink.href, 15_000);
    if (isAway(response, "html")) say(words.unreachable);
    else if (response.ok) makeReporting(await parse(response));
    else location.assign(reportLink.href);
  }
  reporting?.showModal();
});

function makeReporting(page) {
  // a second press may have come before the first answer
  if (reporting) return;
  reporting = document.createElement("dialog");
  reporting.id = "reporting";
  reporting.setAttribute("aria-labelledby", "report-title");
  report = document.createElement("form");
  report.className = "flow";
  report.method = "post";
  report.action = reportLink.href;
  report.noValidate = true;
  report.addEventListener("submit", sendReport);
  report.addEventListener("click", (event) => {
    if (!event.target.matches("a.btn")) return;
    event.preventDefault();
    reporting.close();
  });
  showReport(page);
  reporting.append(report);
  form.after(reporting);
}

function showReport(page) {
  report.replaceChildren(...page.querySelector("#questions").children);
  report.querySelector(".bad :is(input, textarea)")?.focus();
}

async function sendReport(event) {
  event.preventDefault();
  // what is entered is on the server before the report, so that it doesn't count as a change of mind
  clearTimeout(timer);
  if (isChanged) await sendDraft();
  clearTimeout(timer);
  const response = await post(report.action, 15_000, null, {}, report);
  if (isChanged) wait(600);
  report.querySelector("[data-unsent]").hidden = !isAway(response);
  if (isAway(response)) return;
  if (response.ok) await noteReported(response);
  else if (response.status === 422) showReport(await parse(response));
  else report.submit();
}

async function noteReported(response) {
  const { next, is_reported: isReported } = await response.json();
  if (!isReported) {
    location.assign(next);
    return;
  }
  clearTimeout(leaseTimer);
  lapsesAt = null;
  reporting.remove();
  reporting = null;
  say("");
  reported.querySelector("a").href = next;
  reported.hidden = false;
  scrollTo(0, 0);
  reported.querySelector("a").focus();
}

// --- marking passages -----------------------------------------------------------------

// The script for it is fetched when it is first asked for, or where marks are to be listed.
const marked = [...form.querySelectorAll("[data-marks]")];
let marks = null;
let hasMarks = false;
let fetches = 0;

async function fetchMarks() {
  // some browsers remember an address that could not be fetched
  marks ??= import(`${marked[0].dataset.script}?${fetches++}`);
  try {
    await marks;
    hasMarks = true;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    marks = null;
  }
  return hasMarks;
}

// What asked for the script happens once more when it is there, and then each key pressed meanwhile.
let held = null;

async function startMarking(event) {
  if (hasMarks || held) return;
  held = [];
  const isThere = await fetchMarks();
  const keys = held;
  held = null;
  if (!isThere) {
    say(words.unreachable);
    return;
  }
  event.target.dispatchEvent(new event.constructor(event.type, event));
  for (const one of keys) {
    document.activeElement.dispatchEvent(new KeyboardEvent(one.type, one));
  }
}

if (marked.length) commands.h = startMarking;

document.addEventListener(
  "keydown",
  (event) => {
    if (!held || event.ctrlKey || event.altKey || event.metaKey || event.key === "Tab") return;
    event.preventDefault();
    event.stopPropagation();
    held.push(event);
  },
  { capture: true },
);

for (const box of marked) {
  const text = form.querySelector(`[data-markable="${box.dataset.marks}"]`);
  const button = box.querySelector("[data-start]");
  const without = box.querySelector("[data-without]");
  // the button takes over the id of the box, where errors link to
  button.id = without.querySelector("textarea").id;
  without.remove();
  button.hidden = !text.textContent.trim();
  // pressing it must not take a selection away
  button.addEventListener("mousedown", (event) => event.preventDefault());
  button.addEventListener("click", startMarking);
  text.addEventListener("pointerdown", () => hasMarks || fetchMarks());
}

// A new item opens at its top, its heading read out; the keyboard needs no press of Tab before.
if (new URLSearchParams(location.search).has("was")) {
  document.querySelector("h1").focus({ preventScroll: true });
}

setCurrent(questions.every(isAnswered) ? null : nextUnanswered());
restore();
// practice that was checked, with a script or without
if (form.querySelector(".dock .main[autofocus]")) lookAtVerdicts();
// sliders, ticks and questions that depend on others: not every page has some
if (form.querySelector("[data-slide], [data-ask-if], [data-instead], [data-own-words], [data-original], .ticks")) {
  import(words.answers);
}
const spans = form.querySelector("[data-spans]");
if (spans) import(spans.dataset.script);
const isArmed = recall(tab, "evalsite:armed") === location.pathname.replace(/items\/.*/, "");
const hasSome = (box) => box.querySelector("[data-kept]").value.length > 2;
if (marked.length && (isArmed || marked.some(hasSome))) fetchMarks();
if (location.search === "?undo") settled.add(form);
if (words.leaseUntil) keepUntil(words.leaseUntil, words.now, "leaseFinal" in words);
