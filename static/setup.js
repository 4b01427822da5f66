// Shows on the preview what is being typed, before it is saved. Without scripts a button does it.

const form = document.querySelector("form[data-live]");
let waiting = 0;
let newest = 0;

async function update() {
  const number = ++newest;
  const data = new FormData(form);
  data.set("do", "preview");
  const response = await fetch(location.href, { method: "POST", body: data });
  if (!response.ok || number !== newest) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const frame of document.querySelectorAll("[data-live-frame]")) {
    const made = page.querySelector(`[data-live-frame="${frame.dataset.liveFrame}"]`);
    if (made && made.getAttribute("srcdoc") !== frame.getAttribute("srcdoc")) {
      frame.setAttribute("srcdoc", made.getAttribute("srcdoc"));
    }
  }
  for (const part of document.querySelectorAll("[id^=live-]")) {
    const made = page.getElementById(part.id);
    if (made) part.replaceChildren(...made.childNodes);
  }
}

// a missing part is selected in its box, so that typing replaces it
const listMarks = (box) => [...box.value.matchAll(/\[REPLACE:[^\]]*\]/g)];

const hasKeys = matchMedia("(hover: hover)").matches;
const hint = Object.assign(document.createElement("p"), {
  className: "help",
  textContent: "Tab goes on to the next [REPLACE: …].",
});

function select(box, start, length) {
  // where one looks while one types
  if (hasKeys && listMarks(box).length > 1) box.after(hint);
  // a box shows its caret when it gets the focus, not when something is selected
  box.blur();
  box.setSelectionRange(start, start);
  box.focus();
  box.setSelectionRange(start, start + length);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-find]");
  if (!link) return;
  const box = document.querySelector(link.getAttribute("href"));
  const start = box.value.indexOf(link.dataset.find);
  if (start < 0) return;
  event.preventDefault();
  box.scrollIntoView({ block: "center" });
  select(box, start, link.dataset.find.length);
});

// a press on it in its box selects it too
document.addEventListener("click", (event) => {
  const box = event.target;
  if (!box.matches("form[data-live] textarea") || box.selectionStart !== box.selectionEnd) return;
  const caret = box.selectionStart;
  const mark = listMarks(box).find((one) => one.index < caret && caret < one.index + one[0].length);
  if (mark) box.setSelectionRange(mark.index, mark.index + mark[0].length);
});

// Tab goes on to the next one, in the same box or in the one that it enters
let isTab = false;
form?.addEventListener("keydown", (event) => {
  isTab = event.key === "Tab" && !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey;
  const box = event.target;
  if (!isTab || !box.matches("textarea")) return;
  const mark = listMarks(box).find((one) => one.index >= box.selectionEnd);
  if (!mark) return;
  event.preventDefault();
  isTab = false;
  select(box, mark.index, mark[0].length);
});
form?.addEventListener("focusin", (event) => {
  const mark = isTab && event.target.matches("textarea") && listMarks(event.target)[0];
  if (mark) event.target.setSelectionRange(mark.index, mark.index + mark[0].length);
});
form?.addEventListener("pointerdown", () => {
  isTab = false;
});

document.getElementById("problem")?.focus();
for (const button of document.querySelectorAll("[data-live-button]")) button.hidden = true;
form?.addEventListener("input", (event) => {
  if (event.target.name === "as") return;
  clearTimeout(waiting);
  waiting = setTimeout(update, 500);
});
