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
      form.elements.revision.value = page.querySelector("[name=revision]").value;
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

function wait() {
  clearTimeout(timer);
  timer = setTimeout(keep, WAIT);
}

form.addEventListener("input", (event) => {
  if (event.target.name === "as") return;
  wait();
});

// another kind has other fields: they come with the page
form.addEventListener("change", (event) => {
  const name = event.target.name;
  if (!name.endsWith("-kind") && name !== "outputs") return;
  clearTimeout(timer);
  const opened = event.target.closest("details.qn");
  const button = form.querySelector("[data-keep]");
  if (opened) sessionStorage.setItem("opened", opened.id);
  form.requestSubmit(button);
});

// two posts at once would look like two people
form.addEventListener("submit", (event) => {
  clearTimeout(timer);
  if (isSending) {
    event.preventDefault();
    pressed = event.submitter;
  }
});

const opened = sessionStorage.getItem("opened");
if (opened) {
  sessionStorage.removeItem("opened");
  const details = document.getElementById(opened);
  if (details) {
    details.open = true;
    details.scrollIntoView({ block: "start" });
    details.querySelector("[name$=-kind]:checked")?.focus({ preventScroll: true });
  }
}
