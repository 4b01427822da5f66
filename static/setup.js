// Shows on the preview what is being typed, before it is saved. Without scripts a button does it.

const form = document.querySelector("form[data-live]");
const button = document.querySelector("[data-live-button]");
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
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-find]");
  if (!link) return;
  const box = document.querySelector(link.getAttribute("href"));
  const start = box.value.indexOf(link.dataset.find);
  if (start < 0) return;
  event.preventDefault();
  box.scrollIntoView({ block: "center" });
  // a box shows its caret when it gets the focus, not when something is selected
  box.blur();
  box.setSelectionRange(start, start);
  box.focus();
  box.setSelectionRange(start, start + link.dataset.find.length);
});

// a press on it in its box selects it too
document.addEventListener("click", (event) => {
  const box = event.target;
  if (!box.matches("form[data-live] textarea") || box.selectionStart !== box.selectionEnd) return;
  for (const mark of box.value.matchAll(/\[REPLACE:[^\]]*\]/g)) {
    const end = mark.index + mark[0].length;
    if (mark.index < box.selectionStart && box.selectionStart < end) {
      box.setSelectionRange(mark.index, end);
    }
  }
});

document.getElementById("problem")?.focus();
if (button) button.hidden = true;
form?.addEventListener("input", (event) => {
  if (event.target.name === "as") return;
  clearTimeout(waiting);
  waiting = setTimeout(update, 500);
});
