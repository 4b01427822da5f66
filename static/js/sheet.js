// The sheet: what is sent of each part, what the server says of it, and the way between them.
// All else is as on a page with one item. This script comes before annotate.js, which does that and
// passes on what the server says.

const form = document.querySelector("#work");
const jump = document.querySelector(".jump");
const parts = [...form.querySelectorAll("[data-part]")];
const { title } = document;
const OWN = ["state", "was", "client_ms", "active_ms"];

const own = (part, name) => form.elements[`${part.id}-${name}`];

// --- what is pinned has its real height, so that nothing lands under it ------------------

const { style } = document.documentElement;

function measure() {
  const head = document.querySelector(".stays").offsetHeight;
  style.setProperty("--head", `${head}px`);
  style.setProperty("--top", `${head + form.querySelector(".part-head").offsetHeight}px`);
  style.setProperty("--dock", `${form.querySelector(".dock").offsetHeight}px`);
}

addEventListener("resize", measure);
measure();

// --- what is sent: only the parts that say something new ------------------------------

const fieldsOf = (part, data) => [...data].filter(([name]) => name.startsWith(`${part.id}-`));

function isChanged(part, data) {
  const was = Object.entries(JSON.parse(own(part, "was").value)).filter(([, text]) => text);
  const now = fieldsOf(part, data)
    .map(([name, text]) => [name.slice(part.id.length + 1), text])
    .filter(([name, text]) => text && !OWN.includes(name));
  const isOther = ([name, text]) => data.get(`${part.id}-${name}`) !== text;
  return was.length !== now.length || was.some(isOther);
}

form.addEventListener("formdata", ({ formData }) => {
  count();
  const now = performance.now();
  for (const part of parts) {
    if (isChanged(part, formData)) {
      const { activeMs, shownAt } = times.get(part);
      formData.set(`${part.id}-active_ms`, Math.round(activeMs));
      formData.set(`${part.id}-client_ms`, shownAt === null ? "" : Math.round(now - shownAt));
    } else {
      for (const [name] of fieldsOf(part, formData)) formData.delete(name);
    }
  }
  formData.set("at", findPlace()?.dataset.part ?? "");
});

// Where a person is: at the question in hand, or, if that is out of sight, at what is in view.
function findPlace() {
  const part = form.querySelector(".current")?.closest("[data-part]");
  if (!part) return here;
  const { top, bottom } = part.getBoundingClientRect();
  return bottom > 0 && top < innerHeight ? part : here;
}

// --- what became of it ----------------------------------------------------------------

function setText(selector, text) {
  for (const one of document.querySelectorAll(selector)) one.textContent = text;
}

const entryOf = (part) => jump.querySelector(`[value="${part.dataset.part}"]`);

function tick(part, isDone) {
  const entry = entryOf(part);
  const { answered, unanswered } = form.dataset;
  entry.parentElement.classList.toggle("done", isDone);
  entry.querySelector("[data-state]").textContent = isDone ? answered : unanswered;
  const isReported = part.querySelector(".feedback") !== null;
  part.querySelector(".ticked").hidden = !isDone || isReported;
}

// What was at fault is answered now.
function clearFaults(part) {
  document.title = title;
  for (const fault of part.querySelectorAll(".problem, .error")) fault.remove();
  for (const question of part.querySelectorAll(".bad")) {
    question.classList.remove("bad");
    question.removeAttribute("aria-invalid");
    question.setAttribute("aria-describedby", `${question.id}-def`);
  }
}

function note({ parts: known, answered, progress, status }) {
  for (const part of parts) {
    const fresh = known[part.dataset.part] ?? {};
    for (const [name, text] of Object.entries(fresh)) own(part, name).value = text;
    if (fresh.state) clearFaults(part);
    tick(part, answered.includes(Number(part.dataset.part)));
  }
  const bar = document.querySelector(".bar");
  bar.value = progress.done;
  bar.setAttribute("aria-label", progress.bar);
  setText("[data-words]", progress.words);
  setText("[data-left] span", progress.left);
  document.querySelector("[data-left]").hidden = !progress.left;
  if (status) setText("#status", status);
}

form.addEventListener("kept", ({ detail }) => note(detail));

form.addEventListener("saved", (event) => {
  note(event.detail);
  const { pathname, hash } = new URL(event.detail.next, location.href);
  const part = pathname === location.pathname && document.getElementById(hash.slice(1));
  if (!part) return;
  event.preventDefault();
  show(part);
});

// The page that says what is wrong: only the questions at fault change, so that what is entered
// meanwhile stays.
form.addEventListener("refused", (event) => {
  event.preventDefault();
  const page = event.detail;
  for (const part of parts) {
    const fresh = page.getElementById(part.id);
    if (!fresh) continue;
    for (const name of ["state", "was"]) {
      own(part, name).value = fresh.querySelector(`[name="${part.id}-${name}"]`).value;
    }
    tick(part, page.querySelector(`.done [value="${part.dataset.part}"]`) !== null);
    const answered = [...fresh.querySelectorAll("[data-refresh]")];
    [...part.querySelectorAll("[data-refresh]")].forEach((old, place) => {
      if (old.matches(".bad") || answered[place].matches(".bad")) old.replaceWith(answered[place]);
    });
    const problem = fresh.querySelector(".problem");
    if (!problem) continue;
    part.querySelector(".part-head").after(problem);
    part.scrollIntoView();
    problem.focus({ preventScroll: true });
  }
  setText("[data-words]", page.querySelector("[data-words]").textContent);
  document.querySelector(".bar").value = page.querySelector(".bar").value;
});

// --- from part to part ----------------------------------------------------------------

function show(part) {
  jump.open = false;
  part.scrollIntoView();
  part.querySelector("h2").focus({ preventScroll: true });
}

jump.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  event.preventDefault();
  show(parts.find((part) => entryOf(part) === button));
});

document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link?.hash || link.pathname !== location.pathname) return;
  const part = parts.find((one) => link.hash === `#${one.id}`);
  if (part) {
    event.preventDefault();
    show(part);
  } else if (jump.contains(link)) jump.open = false;
});

// --- time -----------------------------------------------------------------------------

// A part has the time in which it is in the middle of the window, as far as the page is in use.
const IDLE = 60_000;
const times = new Map(parts.map((part) => [part, { activeMs: 0, shownAt: null }]));
let here = null;
let usedAt = document.hidden ? null : performance.now();

function count() {
  const now = performance.now();
  if (usedAt !== null && here) times.get(here).activeMs += Math.min(now - usedAt, IDLE);
  usedAt = document.hidden ? null : now;
}

for (const use of ["pointerdown", "pointermove", "keydown", "wheel", "touchstart", "scroll"]) {
  addEventListener(use, count, { passive: true, capture: true });
}
document.addEventListener("visibilitychange", count);

function setHere(part) {
  if (here) entryOf(here).removeAttribute("aria-current");
  here = part;
  entryOf(here).setAttribute("aria-current", "step");
  times.get(here).shownAt ??= performance.now();
}

const middle = new IntersectionObserver(
  (entries) => {
    count();
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      setHere(target);
    }
  },
  { rootMargin: "-50% 0px -50% 0px" },
);
for (const part of parts) middle.observe(part);

// once both scripts listen
document.addEventListener("DOMContentLoaded", () => {
  const asked = parts.find((part) => location.hash === `#${part.id}`);
  if (asked) show(asked);
});
