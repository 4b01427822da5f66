// Finds words in a long text: the field above it shows how often, and brings each place into view.

for (const find of document.querySelectorAll("[data-find]")) {
  const text = find.parentElement.querySelector(".body");
  const fold = find.parentElement.querySelector(".less input");
  const field = find.querySelector("input");
  const status = find.querySelector("[role=status]");
  let places = [];
  let at = -1;

  const say = (words) => { status.textContent = words; };

  const search = () => {
    const words = field.value.trim().toLocaleLowerCase();
    places = [];
    at = -1;
    if (!words) return show();
    const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const data = node.data.toLocaleLowerCase();
      // a letter may be two in lower case: such a text is passed over
      if (data.length !== node.data.length) continue;
      for (let start = data.indexOf(words); start >= 0; start = data.indexOf(words, start + words.length)) {
        const range = document.createRange();
        range.setStart(node, start);
        range.setEnd(node, start + words.length);
        places.push(range);
      }
    }
    next();
  };

  const next = () => {
    at = places.length ? (at + 1) % places.length : -1;
    show();
  };

  const show = () => {
    if (globalThis.Highlight) {
      CSS.highlights.set("found", new Highlight(...places));
      CSS.highlights.set("found-now", new Highlight(...places.slice(at, at + 1)));
    }
    if (at < 0) return say(field.value.trim() ? status.dataset.none : "");
    say(status.dataset.of.replace("%1", at + 1).replace("%2", places.length));
    if (fold?.checked) fold.click();
    const { top } = places[at].getBoundingClientRect();
    scrollBy({ top: top - innerHeight / 3, behavior: "instant" });
  };

  find.hidden = false;
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // the form would be sent
    next();
  });
  find.querySelector("button").addEventListener("click", next);
}
