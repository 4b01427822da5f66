// A page that shows a job at work, or a study that is live, is kept up to date in place: what has
// changed is changed, and nobody loses what they read, hold or have opened. Without scripts a page
// with a job reloads by itself; the others are complete as of when they were loaded.

const JOB_PAUSE = 2000;
const LONGEST_PAUSE = 30000;
// the live part is announced no more often than that
const ANNOUNCED_EVERY = 60000;
const STOPPED = "evalsite-live-stopped";
const TOKENS = "[name=csrfmiddlewaretoken]";

const shown = document.querySelector("main");
const status = document.createElement("p");
let last = shown.cloneNode(true);
let pause = usualPause();
let timer = 0;
let announced = Date.now();
let isWatched = true;
let isLooking = false;

status.className = "vh";
status.setAttribute("role", "status");
document.body.append(status);

// --- asking ------------------------------------------------------------------------

async function look() {
  if (!isWatched || isLooking || document.hidden) return;
  isLooking = true;
  const answer = await ask();
  isLooking = false;
  if (answer.isElsewhere) {
    isWatched = false;
    location.reload();
    return;
  }
  pause = answer.page ? usualPause() : Math.min(2 * pause, Math.max(LONGEST_PAUSE, usualPause()));
  if (answer.page) take(answer.page);
  wait();
}

// A job is asked for every two seconds, a live page as often as it says.
function usualPause() {
  return Number(shown.dataset.every ?? 0) * 1000 || JOB_PAUSE;
}

function wait() {
  clearTimeout(timer);
  if (isWatched && !isStopped()) timer = setTimeout(look, pause);
}

// The page as it is by now; no page if there is none to be had at the moment.
async function ask() {
  try {
    const answer = await fetch(location.href, {
      cache: "no-store",
      // the browser itself goes there, so that what the next page has to say is not lost
      redirect: "manual",
      signal: AbortSignal.timeout(LONGEST_PAUSE),
    });
    if (answer.status >= 500 || answer.status === 429) return {};
    if (!answer.ok) return { isElsewhere: true };
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return page.querySelector("main") ? { page } : { isElsewhere: true };
  } catch (error) {
    if (error instanceof TypeError || error instanceof DOMException) return {};
    throw error;
  }
}

// --- showing -----------------------------------------------------------------------

function take(page) {
  const now = page.querySelector("main");
  // a page without scripts would reload for as long as there is a job to watch
  const hasJob = page.querySelector("meta[http-equiv=refresh]") !== null;
  isWatched = hasJob || now.dataset.every !== undefined;
  if (hasJob) delete shown.dataset.every;
  else if (isWatched) shown.dataset.every = now.dataset.every;
  keepMessages(now);
  takeHeader(page);
  // the same form has another token in each answer
  const token = page.querySelector(TOKENS)?.value ?? "";
  for (const part of [last, now]) giveToken(part, token);
  if (!last.isEqualNode(now)) {
    keepPlace(() => changeChildren(shown, last, now));
    giveToken(document, token);
    tell(now);
    last = now;
  }
  if (document.title !== page.title) document.title = page.title;
}

// What a page says once, such as "Saved.", stays for as long as the page does.
function keepMessages(now) {
  const said = last.querySelector(".messagelist");
  if (!said || now.querySelector(".messagelist")) return;
  now.prepend("\n", said.cloneNode(true), "\n");
}

// The progress at the edge of the header; its links and its menu stay as they are.
function takeHeader(page) {
  const [mine, fresh] = [document, page].map((one) => one.querySelector("header > .bar"));
  if (mine && fresh && !mine.isEqualNode(fresh)) mine.replaceWith(document.importNode(fresh, true));
}

function giveToken(part, token) {
  for (const field of part.querySelectorAll(TOKENS)) field.value = token;
}

// The end of a job is said, and not each of its counts; one that stopped says so by an alert.
function tell(now) {
  const here = new Set(jobsOf(now).map((one) => one.dataset.job));
  const done = jobsOf(last)
    .filter((one) => !one.querySelector("[role=alert]") && !here.has(one.dataset.job))
    .map((one) => `${one.dataset.job}: done.`);
  if (done.length) status.textContent = done.join(" ");
  const headline = now.querySelector("h1")?.textContent.trim();
  const isNew = headline !== last.querySelector("h1")?.textContent.trim();
  if (now.dataset.every && isNew && Date.now() - announced >= ANNOUNCED_EVERY) {
    announced = Date.now();
    status.textContent = headline;
  }
}

function jobsOf(part) {
  return [...part.querySelectorAll("[data-job]")];
}

// --- changing what differs between two answers, and nothing else -----------------------

function change(mine, before, after) {
  if (before.isEqualNode(after)) return;
  if (mine.nodeName !== after.nodeName) {
    mine.replaceWith(document.importNode(after, true));
  } else if (after.nodeType === Node.ELEMENT_NODE) {
    changeAttributes(mine, before, after);
    changeChildren(mine, before, after);
  } else {
    mine.nodeValue = after.nodeValue;
  }
}

function changeAttributes(mine, before, after) {
  for (const name of new Set([...before.getAttributeNames(), ...after.getAttributeNames()])) {
    const value = after.getAttribute(name);
    if (before.getAttribute(name) === value) continue;
    if (value === null) mine.removeAttribute(name);
    else mine.setAttribute(name, value);
  }
}

function changeChildren(mine, before, after) {
  const [held, old, fresh] = [mine, before, after].map((one) => [...one.childNodes]);
  if (held.length !== old.length) {
    // a translator or the like has changed the page: it is built again here
    mine.replaceChildren(...fresh.map((one) => document.importNode(one, true)));
    return;
  }
  const alike = pair(old, fresh);
  for (const [place, other] of alike) change(held[place], old[place], fresh[other]);
  const kept = new Set(alike.map(([place]) => place));
  held.filter((_, place) => !kept.has(place)).forEach((one) => one.remove());
  const staying = new Map(alike.map(([place, other]) => [other, held[place]]));
  let next = null;
  for (let other = fresh.length - 1; other >= 0; other -= 1) {
    const one = staying.get(other) ?? document.importNode(fresh[other], true);
    if (!staying.has(other)) mine.insertBefore(one, next);
    next = one;
  }
}

// Which children stand for which: the same ones from both ends, then those of a kind.
function pair(old, fresh) {
  const pairs = [];
  let [start, left, right] = [0, old.length - 1, fresh.length - 1];
  for (const isAlike of [(one, other) => one.isEqualNode(other), isOfAKind]) {
    while (start <= left && start <= right && isAlike(old[start], fresh[start])) {
      pairs.push([start, start]);
      start += 1;
    }
    while (start <= left && start <= right && isAlike(old[left], fresh[right])) {
      pairs.push([left, right]);
      left -= 1;
      right -= 1;
    }
  }
  return pairs;
}

// A link stays itself only while it leads to the same place, and a form while it does the same.
function isOfAKind(one, other) {
  const names = ["id", "aria-labelledby", "href", "action", "formaction", "name"];
  const isSame = (name) => one.getAttribute?.(name) === other.getAttribute?.(name);
  return one.nodeName === other.nodeName && names.every(isSame);
}

// --- what somebody holds or has opened ---------------------------------------------------

function keepPlace(work) {
  const held = shown.contains(document.activeElement) ? document.activeElement : null;
  const section = held?.closest("section[aria-labelledby]")?.getAttribute("aria-labelledby");
  const opened = [...shown.querySelectorAll("details[open]")];
  work();
  for (const one of opened) {
    const twin = shown.contains(one) ? null : findTwin(one);
    if (twin) twin.open = true;
  }
  if (held && !shown.contains(held)) {
    // never another control at the same place: a key that is pressed now would be taken by it
    const next = findTwin(held) ?? document.getElementById(section) ?? shown;
    if (next.tabIndex < 0) next.tabIndex = -1;
    next.focus({ preventScroll: true });
  }
}

function findTwin(lost) {
  const words = (one) => (one.querySelector("summary") ?? one).textContent;
  return [...shown.querySelectorAll(lost.localName)].find(
    (one) => isOfAKind(lost, one) && words(one) === words(lost),
  );
}

// --- stopping a live page, which is remembered ------------------------------------------------

function isStopped() {
  return shown.dataset.every !== undefined && localStorage.getItem(STOPPED) !== null;
}

function showButton() {
  const button = document.querySelector("[data-live] button");
  if (!button) return;
  const note = button.parentElement;
  note.hidden = false;
  const show = () => {
    button.textContent = isStopped() ? "Update again" : "Stop updating";
    note.firstChild.nodeValue = isStopped() ? ", updating is stopped · " : ", every 20 seconds · ";
  };
  button.addEventListener("click", () => {
    if (isStopped()) localStorage.removeItem(STOPPED);
    else localStorage.setItem(STOPPED, "yes");
    show();
    if (!isStopped()) look();
  });
  show();
}

document.addEventListener("visibilitychange", () => {
  if (!isStopped()) look();
});
showButton();
wait();
