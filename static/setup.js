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

document.getElementById("problem")?.focus();
for (const button of document.querySelectorAll("[data-live-button]")) button.hidden = true;
form?.addEventListener("input", (event) => {
  if (event.target.name === "as") return;
  clearTimeout(waiting);
  waiting = setTimeout(update, 500);
});
