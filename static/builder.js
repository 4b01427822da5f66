// The builder: keeps the draft a moment after a change, and shows what participants will see.
// Without scripts, buttons do the same.

const form = document.getElementById("builder");
const WAIT = 600;
let timer = 0;
let isSending = false;
let isStale = false;
let pressed = null; // a button that waits for the draft to be kept

function replace(page, id) {
  const mine = document.getElementById(id);
  const theirs = page.getElementById(id);
  if (mine && theirs && !mine.isEqualNode(theirs)) mine.replaceWith(document.adoptNode(theirs));
}

// what the page says of the draft: its revision, and the columns that follow their names
function refill(page) {
  for (const theirs of page.querySelectorAll("#builder input[type=hidden], #builder [name$=-key]")) {
    const mine = form.elements[theirs.name];
    if (!mine || theirs.name === "csrfmiddlewaretoken") continue;
    if (mine.type !== "hidden" && (mine.value !== mine.defaultValue || mine === document.activeElement)) continue;
    mine.value = theirs.value;
    mine.defaultValue = theirs.value;
  }
}

async function keep() {
  if (isSending) {
    isStale = true;
    return;
  }
  isSending = true;
  isStale = false;
  const said = new FormData(form);
  said.set("do", "draft");
  const status = document.getElementById("kept");
  try {
    const response = await fetch(form.action || location.href, {
      method: "POST",
      body: new URLSearchParams(said),
    });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (response.status === 409) {
      status.textContent = page.querySelector(".messagelist")?.textContent.trim() ?? "Changed by someone else.";
    } else if (response.ok && page.getElementById("builder")) {
      refill(page);
      for (const id of ["faults", "preview", "kept"]) replace(page, id);
    } else {
      status.textContent = "Not kept: the site didn’t take it. What you entered is still on this page.";
    }
  } catch {
    status.textContent = "Not kept: no connection. What you entered is still on this page.";
  }
  isSending = false;
  if (pressed) form.requestSubmit(pressed);
  else if (isStale) wait();
}

// a wide page can't be read on a narrow one
const isNarrow = matchMedia("(max-width: 44em)").matches;
if (isNarrow) document.getElementById("as-phone").checked = true;

function wait() {
  clearTimeout(timer);
  timer = setTimeout(keep, WAIT);
}

form.addEventListener("input", (event) => {
  if (event.target.name === "as") return;
  // the heading of a question follows its name
  const name = /^q-\d+-label$/.test(event.target.name) && event.target.value.trim();
  if (name) {
    const heading = event.target.closest("details").querySelector("summary b");
    heading.textContent = `${parseInt(heading.textContent)}. ${name}`;
  }
  // a saved version offers its use first, until something is changed
  document.querySelector(".head .main")?.classList.remove("main");
  form.querySelector("button[value=save]").classList.add("main");
  wait();
});

// another kind or condition has other fields: they come with the page
form.addEventListener("change", (event) => {
  const name = event.target.name;
  if (!/-(kind|per|if|test|from_column)$/.test(name) && name !== "outputs") return;
  clearTimeout(timer);
  const opened = event.target.closest("details.qn");
  const button = form.querySelector("[data-keep]");
  if (opened) sessionStorage.setItem("opened", JSON.stringify([opened.id, name]));
  form.requestSubmit(button);
});

// Enter goes on: down a table, which gets a row at its end, or to the next text of a question. With
// Ctrl it adds the next question.
document.getElementById("enter-hint").hidden = isNarrow;
let isTab = false;
form.addEventListener("keydown", (event) => {
  isTab = event.key === "Tab";
});
form.addEventListener("pointerdown", () => {
  isTab = false;
});
// Tab selects the text of a question, as it does in every field of one line
form.addEventListener("focusin", (event) => {
  if (isTab && event.target.matches("details.qn textarea")) event.target.select();
});
form.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing || event.shiftKey || event.altKey) return;
  const mine = event.target;
  if ((event.ctrlKey || event.metaKey) && mine.closest("details.qn")) {
    event.preventDefault();
    form.requestSubmit(form.querySelector("button[value=add]"));
  } else if (mine.matches("input:not([type=checkbox], [type=radio])") && !event.ctrlKey) {
    event.preventDefault();
    goOn(mine);
  }
});

function goOn(mine) {
  const row = mine.closest("tbody tr");
  if (row) {
    const place = mine.closest("td").cellIndex;
    const next = row.nextElementSibling?.cells[place].querySelector("input");
    if (next) next.select();
    else form.requestSubmit(row.closest("fieldset").querySelector("button[value^=row-add]"));
  } else {
    // the column follows the name by itself
    const texts = [...(mine.closest("details, fieldset, section") ?? form)
      .querySelectorAll("input:not([type], [name$=-key]), textarea")];
    // after the last text of the page come the questions
    const first = mine.closest("details") ? null : form.querySelector("details.qn[open] input:not([type])");
    const next = texts[texts.indexOf(mine) + 1] ?? first;
    if (next) next.select();
    else wait();
  }
}

// two posts at once would look like two people
form.addEventListener("submit", (event) => {
  clearTimeout(timer);
  if (isSending) {
    event.preventDefault();
    pressed = event.submitter;
  }
});

// where the page goes on: at the control that brought it, or in what was just added
function enter() {
  const brought = sessionStorage.getItem("opened");
  sessionStorage.removeItem("opened");
  if (brought) return comeBack(...JSON.parse(brought));
  const added = location.hash && form.querySelector(`#${CSS.escape(location.hash.slice(1))}`);
  if (!added) return;
  const texts = [...added.querySelectorAll("input:not([type]):not(.num), textarea")];
  // typing replaces the words that a question starts with
  for (const text of texts) text.addEventListener("focus", () => text.select(), { once: true });
  texts[0]?.focus({ preventScroll: true });
}

function comeBack(id, name) {
  const details = document.getElementById(id);
  if (!details) return;
  details.open = true;
  const controls = [...details.querySelectorAll(`[name="${CSS.escape(name)}"]`)];
  const control = controls.find((one) => one.type !== "radio" || one.checked);
  (control ?? details).scrollIntoView({ block: "center" });
  control?.focus({ preventScroll: true });
}

// a browser that goes to a part of the page takes the focus away, until the page is there
if (document.readyState === "complete") enter();
else addEventListener("load", () => setTimeout(enter));
