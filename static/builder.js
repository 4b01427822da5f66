// The builder: saves the draft a moment after a change, and shows what people will see.
// Without scripts, buttons do the same.

const form = document.getElementById("builder");
const WAIT = 600;
let timer = 0;
let isSending = false;
let isStale = false;
let pressed = null; // a button that waits for the draft to be saved

function replace(page, id) {
  const mine = document.getElementById(id);
  const theirs = page.getElementById(id);
  if (mine && theirs && !mine.isEqualNode(theirs)) mine.replaceWith(document.adoptNode(theirs));
}

// what the page says of the draft: its revision, and the keys that follow their words
function refill(page) {
  for (const theirs of page.querySelectorAll("#builder input[type=hidden], #builder input[name$=-key], #builder input[name$=-name]")) {
    const mine = form.elements[theirs.name];
    if (!mine || theirs.name === "csrfmiddlewaretoken") continue;
    if (mine.type !== "hidden" && (mine.value !== mine.defaultValue || mine === document.activeElement)) continue;
    mine.value = theirs.value;
    mine.defaultValue = theirs.value;
  }
}

const isOfRow = (control) => control.parentElement.closest(".rowset") !== null;
const listNames = (part, isRow) =>
  [...part.querySelectorAll("[name]")].filter((control) => isRow || !isOfRow(control)).map((control) => control.name).join();
const listHeads = (part) => [...part.querySelectorAll("summary")].map((head) => head.textContent).join();

// put a part of the new page in the place of mine: what is open stays open, and the focus stays
function swap(mine, theirs) {
  const nameFold = (part) => part.id || part.querySelector("summary > b")?.textContent;
  const opened = [...mine.querySelectorAll("details[open]:not(.menu)")].map(nameFold);
  const name = mine.contains(document.activeElement) ? document.activeElement.name : "";
  mine.replaceWith(document.adoptNode(theirs));
  for (const part of theirs.querySelectorAll("details")) {
    if (opened.includes(nameFold(part))) part.open = true;
  }
  if (name) form.elements[name]?.focus({ preventScroll: true });
}

// another kind of answer has other fields, and rows come and go with the lines of a box
function replaceParts(page) {
  for (const mine of form.querySelectorAll(".q, .folds > .fold[id^=part-]")) {
    const theirs = page.getElementById(mine.id);
    if (theirs && listNames(mine, false) !== listNames(theirs, false)) swap(mine, theirs);
  }
  for (const mine of form.querySelectorAll(".rowset")) {
    const theirs = page.getElementById(mine.id);
    if (!theirs || !mine.isConnected || mine.contains(document.activeElement)) continue;
    if (listNames(mine, true) !== listNames(theirs, true) || listHeads(mine) !== listHeads(theirs)) swap(mine, theirs);
  }
}

async function save() {
  if (isSending) {
    isStale = true;
    return;
  }
  isSending = true;
  isStale = false;
  const sent = new FormData(form);
  sent.set("do", "draft");
  const status = document.getElementById("kept");
  try {
    const response = await fetch(form.action || location.href, {
      method: "POST",
      body: new URLSearchParams(sent),
    });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (response.status === 409) {
      status.textContent = page.querySelector(".messagelist")?.textContent.trim() ?? "Changed by someone else.";
    } else if (response.ok && page.getElementById("builder")) {
      if (!isStale) replaceParts(page);
      refill(page);
      for (const id of ["faults", "preview", "kept"]) replace(page, id);
    } else {
      status.textContent = "Not saved: the site refused it. What you entered is still on this page.";
    }
  } catch {
    status.textContent = "Not saved: no connection. What you entered is still on this page.";
  }
  isSending = false;
  if (pressed) form.requestSubmit(pressed);
  else if (isStale) wait();
}

// a wide page can't be read on a narrow one
if (matchMedia("(max-width: 44em)").matches) document.getElementById("as-phone").checked = true;

function wait() {
  clearTimeout(timer);
  timer = setTimeout(save, WAIT);
}

form.addEventListener("input", (event) => {
  if (event.target.name === "as") return;
  // a saved version offers its use first, until something is changed
  document.querySelector(".head .main")?.classList.remove("main");
  form.querySelector("button[value=save]").classList.add("main");
  wait();
});

// Ctrl + Enter adds a question; Enter in a field of one line saves the draft where the page is
form.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing || event.shiftKey || event.altKey) return;
  if ((event.ctrlKey || event.metaKey) && event.target.closest(".q")) {
    event.preventDefault();
    form.requestSubmit(form.querySelector("button[value='add:criteria']"));
  } else if (event.target.matches("input:not([type=checkbox], [type=radio])")) {
    event.preventDefault();
    wait();
  }
});

// two posts at once would look like two people
form.addEventListener("submit", (event) => {
  clearTimeout(timer);
  if (isSending) {
    event.preventDefault();
    pressed = event.submitter;
  }
});

// where the page goes on: in what was just added
function enter() {
  const added = location.hash.startsWith("#id_") && document.getElementById(location.hash.slice(1));
  if (!added || !form.contains(added)) return;
  const texts = [...added.querySelectorAll("input[type=text]:not(.num), textarea")];
  // typing replaces the words that a question starts with
  for (const text of texts) text.addEventListener("focus", () => text.select(), { once: true });
  texts[0]?.focus({ preventScroll: true });
}

// a browser that goes to a part of the page takes the focus away, until the page is there
if (document.readyState === "complete") enter();
else addEventListener("load", () => setTimeout(enter));
