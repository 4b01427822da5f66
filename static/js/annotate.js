// The rating page: keys, drafts, time, and the place that is kept.
// The page is a plain form that can be sent without any of this.

const form = document.querySelector("#work");
const words = form.dataset;
const statusLine = document.querySelector("#status");
const main = form.querySelector(".actions .main");
const unsaved = document.querySelector("#unsaved");
const questions = [...form.querySelectorAll("[data-question]")];
const loadedAt = performance.now();

const say = (text) => {
  if (statusLine.textContent !== text) statusLine.textContent = text;
};

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

const controlsOf = (question) => [...question.querySelectorAll("input:enabled")];

const isAnswered = (question) =>
  controlsOf(question).some((one) => (one.type === "radio" ? one.checked : one.value.trim()));

const nextUnanswered = (after = -1) =>
  questions.find((one, place) => place > after && !isAnswered(one)) ??
  questions.find((one) => !isAnswered(one));

let current = null;

function setCurrent(question) {
  current = question;
  for (const one of questions) one.classList.toggle("current", one === question);
}

function goTo(question) {
  const controls = controlsOf(question);
  (controls.find((one) => one.checked) ?? controls[0])?.focus();
  setCurrent(question);
}

form.addEventListener("focusin", (event) => {
  const question = event.target.closest("[data-question]");
  if (question) setCurrent(question);
});

// --- keys ------------------------------------------------------------------------

const keysDialog = document.querySelector("#keys");
const switches = {};

for (const box of keysDialog.querySelectorAll("[data-switch]")) {
  const key = `evalsite:${box.dataset.switch}`;
  box.checked = (recall(local, key) ?? box.dataset.default) === "on";
  switches[box.dataset.switch] = box;
  box.addEventListener("change", () => {
    remember(local, key, box.checked ? "on" : "off");
    form.classList.toggle("keys-on", switches.keys.checked);
  });
}
form.classList.toggle("keys-on", switches.keys.checked);

const opener = document.querySelector("[data-open=keys]");
opener.parentElement.hidden = false;
opener.addEventListener("click", () => keysDialog.showModal());

function step(by) {
  const place = questions.indexOf(current);
  if (place < 0) goTo(nextUnanswered() ?? questions[0]);
  else goTo(questions[Math.min(Math.max(place + by, 0), questions.length - 1)]);
}

const commands = {
  j: () => step(1),
  k: () => step(-1),
  i: () => document.querySelector("#ignore")?.click(),
  x: () => document.querySelector("#report")?.click(),
  "?": () => keysDialog.showModal(),
};

const keyed = (question, key) =>
  question && controlsOf(question).find((one) => one.dataset.key === key);

function choose(key) {
  // a digit answers the current question; a letter the question that offers it
  const first = current ?? nextUnanswered() ?? questions[0];
  const choices = /[0-9]/.test(key) ? [first] : [first, ...questions];
  const asked = choices.find((one) => keyed(one, key));
  if (!asked) return false;
  const radio = keyed(asked, key);
  radio.checked = true;
  radio.focus();
  setCurrent(asked);
  radio.dispatchEvent(new Event("change", { bubbles: true }));
  const next = nextUnanswered(questions.indexOf(asked));
  if (next) goTo(next);
  else if (switches.advance?.checked) save();
  return true;
}

// Typing a score with no box chosen: the first empty box takes the very same key press.
function startTyping(key) {
  if (!/^[0-9]$/.test(key)) return;
  const empty = questions.find((one) => one.querySelector(".number:enabled") && !isAnswered(one));
  if (empty) goTo(empty);
}

const save = () => main.click();

function onEnter(event) {
  const { target } = event;
  if (target.matches("textarea") ? !event.ctrlKey : target.matches("a, button, summary")) return;
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
  if (event.target.matches("textarea, input:not([type=radio], [type=checkbox])")) return;
  const key = event.key.toLowerCase();
  if (commands[key]) {
    event.preventDefault();
    commands[key]();
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
  // a box that loses the focus tells once more what is known
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
  if (!isChanged) remember(local, key, null);
  if (!response.ok) {
    say(words.lapsed);
    return;
  }
  const time = new Date().toLocaleTimeString([], {
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  });
  say(`${words.saved} ${time}`);
  const { lease_until: until, is_final: isFinal } = await response.json();
  if (until) keepUntil(until, response.headers.get("Date"), isFinal);
}

async function post(address, patience, button = null) {
  const body = new URLSearchParams(new FormData(form));
  if (button?.name) body.set(button.name, button.value);
  const slow = setTimeout(() => say(words.saving), 300);
  try {
    const response = await fetch(address, {
      method: "POST",
      body,
      headers: { Accept: "application/json" },
      credentials: "omit",
      redirect: "manual",
      signal: AbortSignal.timeout(patience),
    });
    askedPause = 1000 * (Number(response.headers.get("Retry-After")) || 0);
    return response;
  } catch (error) {
    if (error instanceof TypeError || error instanceof DOMException) return null;
    throw error;
  } finally {
    clearTimeout(slow);
  }
}

const isJson = (response) => response.headers.get("Content-Type")?.includes("json");

// a success in other words than ours is some network's own page
const isAway = (response) =>
  response === null ||
  response.status >= 500 ||
  [408, 429].includes(response.status) ||
  (response.ok && !isJson(response));

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
      if (control.type === "radio") {
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
  onChange();
}

form.addEventListener("input", onChange);
form.addEventListener("change", onChange);

// --- sending ---------------------------------------------------------------------

// The page stays until the server has the answer: else the browser's own error page would take the
// place of the answers. What is tried again is the same form, so it is stored once.
form.addEventListener("submit", (event) => {
  fillIn();
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
  else sendPlainly(button);
}

function keepTrying() {
  // none is pending if something was changed meanwhile
  tryAgainLater(pending ? () => send(pending) : sendDraft);
  if (!pending || !unsaved.hidden) return;
  unsaved.hidden = false;
  unsaved.focus();
}

async function goOn(response) {
  const { next } = await response.json();
  if (!isChanged) remember(local, key, null);
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

unsaved.querySelector("button").addEventListener("click", () => send(pending ?? main));

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
  form.elements.client_ms.value = Math.round(performance.now() - loadedAt);
  form.elements.active_ms.value = Math.round(activeMs);
  form.elements.first_ms.value = firstMs === null ? "" : Math.round(firstMs);
}

// --- the place that is kept --------------------------------------------------------

const still = document.querySelector("#still");
const WARNING = 5 * 60_000;
let lapsesAt = null;
let asksAt = null;
let leaseTimer = null;

// Only the time that is left comes from the server: the browser's clock may be wrong by years.
// Nobody is asked whether to keep a place that a draft can't renew any more.
function keepUntil(until, serverNow, isFinal = false) {
  const left = Date.parse(until) - Date.parse(serverNow);
  if (!still || Number.isNaN(left)) return;
  lapsesAt = Date.now() + left;
  asksAt = isFinal ? lapsesAt : lapsesAt - Math.min(WARNING, left / 2);
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
  if (now >= asksAt && !still.open) {
    keysDialog.close();
    still.showModal();
  }
  leaseTimer = setTimeout(checkLease, (now < asksAt ? asksAt : lapsesAt) - now + 50);
}

still?.addEventListener("close", () => {
  if (Date.now() >= lapsesAt) return;
  if (pending) send(pending);
  else sendDraft();
});

// --- what is in view ----------------------------------------------------------------

const context = document.querySelector("#context");
const peek = document.querySelector(".peek");
if (context && peek) {
  // its room stays, so that nothing below moves under a finger
  const seen = new IntersectionObserver(([entry]) => {
    peek.classList.toggle("away", entry.isIntersecting);
  });
  seen.observe(context);
}

// A long dialogue scrolls in a box of its own, and begins at its end: what is judged follows there.
for (const turns of form.querySelectorAll(".turns")) {
  if (turns.scrollHeight <= turns.clientHeight + 1) {
    // no stop for the Tab key where there is nothing to scroll
    turns.removeAttribute("tabindex");
    continue;
  }
  const hint = document.createElement("p");
  hint.className = "help";
  hint.textContent = turns.dataset.long;
  turns.before(hint);
  turns.classList.add("long");
  turns.scrollTop = turns.scrollHeight;
}

// The pinned standard covers no box that gets the focus; a very tall one is not pinned whole.
const standard = document.querySelector(".live .standard");
function makeRoom() {
  standard.classList.remove("tall");
  const isTall = standard.offsetHeight > innerHeight * 0.45;
  standard.classList.toggle("tall", isTall);
  const pinned = [standard, standard.querySelector(".standard-score")].find(
    (one) => one.offsetHeight && getComputedStyle(one).position === "sticky",
  );
  const room = pinned ? `${pinned.offsetHeight + 16}px` : "";
  document.documentElement.style.scrollPaddingBlockStart = room;
}
if (standard) {
  makeRoom();
  addEventListener("resize", makeRoom);
}

setCurrent(questions.every(isAnswered) ? null : nextUnanswered());
restore();
if (words.leaseUntil) keepUntil(words.leaseUntil, words.now);
