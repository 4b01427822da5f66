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

// rows that belong to the lines of a box come and go with these
function replaceRows(page) {
  for (const mine of form.querySelectorAll(".rowset")) {
    const theirs = page.getElementById(mine.id);
    if (!theirs || mine.contains(document.activeElement)) continue;
    const list = (rows) => [...rows.querySelectorAll(":scope > .folds > .fold > summary")].map((row) => row.textContent);
    if (list(mine).join("\n") !== list(theirs).join("\n")) {
      const opened = [...mine.querySelectorAll("details[open]")].map((row) => row.id);
      mine.replaceWith(document.adoptNode(theirs));
      for (const id of opened) document.getElementById(id)?.setAttribute("open", "");
    }
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
      if (!isStale) replaceRows(page);
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

// another kind of answer, input or layout has other fields: they come with the page
form.addEventListener("change", (event) => {
  const name = event.target.name;
  if (!/-(kind|per|from_column|there)$/.test(name) && !/^(context|layout-outputs)$/.test(name)) return;
  clearTimeout(timer);
  const opened = [...form.querySelectorAll("details[open]")].map((part) => part.id || part.querySelector("summary").textContent);
  sessionStorage.setItem("opened", JSON.stringify([name, opened]));
  form.requestSubmit(form.querySelector("[data-keep]"));
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

// where the page goes on: at the control that brought it, or in what was just added
function enter() {
  const brought = sessionStorage.getItem("opened");
  sessionStorage.removeItem("opened");
  if (brought) return comeBack(...JSON.parse(brought));
  const added = location.hash.startsWith("#id_") && document.getElementById(location.hash.slice(1));
  if (!added || !form.contains(added)) return;
  const texts = [...added.querySelectorAll("input[type=text]:not(.num), textarea")];
  // typing replaces the words that a question starts with
  for (const text of texts) text.addEventListener("focus", () => text.select(), { once: true });
  texts[0]?.focus({ preventScroll: true });
}

function comeBack(name, opened) {
  for (const part of form.querySelectorAll("details")) {
    if (opened.includes(part.id || part.querySelector("summary").textContent)) part.open = true;
  }
  const control = form.elements[name];
  control?.scrollIntoView({ block: "center" });
  control?.focus({ preventScroll: true });
}

// a browser that goes to a part of the page takes the focus away, until the page is there
if (document.readyState === "complete") enter();
else addEventListener("load", () => setTimeout(enter));
