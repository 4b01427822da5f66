// Pages around the rating: copying, printing, and the personal link that this browser remembers.
// Each of them is complete without it.

const LINK = "evalsite:link:";

const memory = {
  read(key) {
    try {
      return localStorage.getItem(key);
    } catch (error) {
      return denied(error);
    }
  },
  write(key, text) {
    try {
      localStorage.setItem(key, text);
    } catch (error) {
      denied(error);
    }
  },
  forget(path) {
    try {
      for (const key of Object.keys(localStorage)) {
        const isLink = key.startsWith(LINK) && localStorage[key].includes(path);
        if (isLink || key.startsWith(`evalsite:draft:${path}`)) localStorage.removeItem(key);
      }
    } catch (error) {
      denied(error);
    }
  },
};

// Storage is a convenience: switched off or full, the personal link itself still works.
function denied(error) {
  if (error instanceof DOMException) return null;
  throw error;
}

function offerCopying(button) {
  const text = document.getElementById(button.dataset.copy);
  const words = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    if (!(await copy(text))) return;
    button.textContent = button.dataset.done;
    button.nextElementSibling.textContent = button.dataset.done;
    setTimeout(() => {
      button.textContent = words;
      button.nextElementSibling.textContent = "";
    }, 3000);
  });
}

async function copy(element) {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(element.textContent);
      return true;
    } catch (error) {
      denied(error);
    }
  }
  // without the permission the text is at least selected, ready for Ctrl+C
  getSelection().selectAllChildren(element);
  return document.execCommand("copy");
}

function offerReturn(form) {
  const link = memory.read(LINK + form.dataset.study);
  if (!link?.startsWith(`${location.origin}/p/`)) return;
  const offer = form.querySelector("[data-resume]");
  offer.querySelector("a").href = link;
  offer.hidden = false;
}

for (const button of document.querySelectorAll("[data-copy]")) offerCopying(button);

for (const box of document.querySelectorAll("[data-link]")) {
  if (box.dataset.study) memory.write(LINK + box.dataset.study, box.dataset.link);
}

for (const form of document.querySelectorAll("form[data-study]")) offerReturn(form);

if (document.querySelector("[data-forget]")) {
  memory.forget(location.pathname.split("/").slice(0, 3).join("/"));
}

for (const place of document.querySelectorAll("[data-print]")) {
  place.hidden = false;
  place.querySelector("button").addEventListener("click", () => print());
}
