// Rules of rendered boxes, for geometry.py: nothing that is judged is ever hidden.
({
measure: () => {
  const found = [];
  const report = (rule, where, what) => found.push({ rule, where, what });
  const main = document.querySelector("main") ?? document.body;
  const style = (element) => getComputedStyle(element);
  const name = (element) => {
    const marked = element.closest("[data-read][id]");
    const id = element.id || marked?.id || element.closest("[id]")?.id || "";
    const kind = element.classList.length ? "." + [...element.classList].join(".") : element.tagName.toLowerCase();
    return id ? `#${id} ${kind}` : kind;
  };
  const isShown = (element) =>
    !element.closest(".vh, [hidden], dialog:not([open]), nav, header, .dock, .marks, .keylist, script, style") &&
    style(element).position !== "absolute";
  const texts = [...main.querySelectorAll(
    ":is([data-read], .turns) :is(.text, .mr, .md, pre, table, .dialogue)")]
    .filter((element) => isShown(element));

  if (!texts.length) report("whole", "page", "no text is marked with data-read");

  // 1 whole: no scroller, no clip, no closed fold around a text
  const seen = new Set();
  for (const text of texts) {
    for (let box = text; box && box !== document.body; box = box.parentElement) {
      if (box.matches(".given > .body") && box.parentElement.querySelector(".less :checked")) break;
      const { overflowX, overflowY } = style(box);
      const tall = box.scrollHeight - box.clientHeight;
      const broad = box.scrollWidth - box.clientWidth;
      const scrolls = [overflowX, overflowY].some((value) => value === "auto" || value === "scroll");
      const clips = [overflowX, overflowY].some((value) => value === "hidden" || value === "clip");
      if ((scrolls || (clips && (tall > 1 || broad > 1))) && !seen.has(box)) {
        seen.add(box);
        const cut = tall > 1 || broad > 1 ? `shows ${box.clientHeight} of ${box.scrollHeight} px` +
          (broad > 1 ? `, ${box.clientWidth} of ${box.scrollWidth} px wide` : "") : "could scroll";
        report("whole", name(box), `${clips && !scrolls ? "clips" : "scrolls"}: ${cut}`);
      }
      if (box.tagName === "DETAILS" && !box.open && !seen.has(box)) {
        seen.add(box);
        report("whole", name(box), "a closed fold");
      }
    }
    const box = text.getBoundingClientRect();
    if ((box.width < 1 || box.height < 1) && text.textContent.trim() && !text.closest("details:not([open])")) {
      report("whole", name(text), "takes no room");
    }
  }

  // 2 columns: an answer that names an output stands in that output's column
  const sides = { first: [], second: [] };
  for (const pair of main.querySelectorAll(".pair")) {
    const outputs = [...pair.children].filter((child) => child.matches(".specimen"));
    if (outputs.length !== 2) continue;
    const [a, b] = outputs.map((output) => output.getBoundingClientRect());
    if (a.width < 1 || b.width < 1 || a.right > b.left + 1 && b.right > a.left + 1) continue;   // one above the other
    const scope = pair.closest("form, article, .part") ?? main;
    for (const input of scope.querySelectorAll("input[type=radio]")) {
      const value = Number(input.value);
      const side = input.value === "first" || value < 0 ? a : input.value === "second" || (value > 0 && scope.querySelector(
        `input[name="${input.name}"][value="-${input.value}"]`)) ? b : null;
      if (!side) continue;
      const label = (input.closest("label") ?? input).getBoundingClientRect();
      const centre = label.left + label.width / 2;
      if (centre < side.left || centre > side.right) {
        report("column", `${input.name}=${input.value}`,
          `centre at ${Math.round(centre)}, its output ${Math.round(side.left)} to ${Math.round(side.right)}`);
      }
    }
  }
  for (const input of main.querySelectorAll(".specimen input:not([type=hidden])")) {
    const card = input.closest(".specimen").getBoundingClientRect();
    const box = input.getBoundingClientRect();
    if (box.left < card.left || box.right > card.right) report("column", input.name, "leaves its output's box");
  }

  // 3 words: none broken inside an answer or a button
  for (const label of main.querySelectorAll(".pt, .tick, .seg label, .btn")) {
    if (!label.getClientRects().length) continue;
    const walker = document.createTreeWalker(label, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.parentElement.closest(".vh")) continue;
      for (const word of node.data.matchAll(/[\p{L}\p{M}\p{N}’']{2,}/gu)) {
        const range = document.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].filter((box) => box.width > 0.5).map((box) => Math.round(box.top / 4)));
        if (lines.size > 1) report("word", name(label), `"${word[0]}" is broken`);
      }
    }
  }

  // 5 sideways
  const over = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (over > 0) report("sideways", "page", `${over} px too wide`);
  return found;
},

taps: () => {
  const found = [];
  for (const target of document.querySelectorAll("a[href], button, summary, label, input, select, textarea")) {
    if (target.matches("input") && (target.closest("label") || target.type === "hidden")) continue;
    if (target.matches("label") && !target.querySelector("input")) continue;
    if (target.closest(".vh, .skip, [hidden], dialog:not([open]), [inert]")) continue;
    const style = getComputedStyle(target);
    if (style.visibility === "hidden" || style.display === "inline" && target.matches("a") && target.closest("p, li, dd, td, h1, h2, h3")) continue;
    const box = target.getBoundingClientRect();
    if (!target.checkVisibility() || box.width < 2 || box.height < 2) continue;
    if (box.height < 43.5 || box.width < 43.5) {
      found.push({ rule: "tap", where: (target.textContent || target.name || target.type).trim().slice(0, 40),
        what: `${Math.round(box.width)} x ${Math.round(box.height)} px` });
    }
  }
  return found;
},

focus: async (hasScripts) => {
  const found = [];
  // without scripts frames never come; layout and scrolling are immediate, since motion is reduced
  const frame = () => hasScripts && new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const targets = [...document.querySelectorAll("main fieldset.q, main .trio .field, main .lines > li")]
    .map((question) => question.querySelector("input:not([type=hidden]):not([disabled]), select, textarea"))
    .filter((input, place, all) => input && input.checkVisibility() && all.indexOf(input) === place);
  const sticky = [...document.querySelectorAll("body *")].filter((element) => {
    const style = getComputedStyle(element);
    return (style.position === "sticky" || style.position === "fixed") && element.checkVisibility();
  });
  for (const input of targets) await visit(input, sticky.filter((part) => !part.contains(input)));
  return found;

  async function visit(input, sticky) {
  input.blur();
  input.focus();
  await frame();
  const target = input.closest("label") ?? input;
  const box = target.getBoundingClientRect();
  const where = input.name || input.id;
  if (box.bottom < 1 || box.top > innerHeight - 1) found.push({ rule: "covered", where, what: "focus is outside the window" });
  for (const part of sticky) {
    const cover = part.getBoundingClientRect();
    if (!cover.width || !cover.height) continue;
    const wide = Math.min(box.right, cover.right) - Math.max(box.left, cover.left);
    const high = Math.min(box.bottom, cover.bottom) - Math.max(box.top, cover.top);
    if (wide > 2 && high > 2) {
      found.push({ rule: "covered", where, what: `${Math.round(high)} px under ${part.className || part.tagName}` });
    }
  }
  const read = [...document.querySelectorAll("main [data-read]")]
    .filter((text) => !text.parentElement.closest("[data-read]") && !text.closest(".q, .example, .qs .given")
      && !(text.closest(".part") && text.closest(".part") !== input.closest(".part")));
  for (const text of read) {
    const turn = text.closest(".turns > li");   // a turn with a question of its own
    if (text.contains(input) || (turn?.querySelector(".q") && input.closest(".turns > li") && !turn.contains(input))) continue;
    const box = text.getBoundingClientRect();
    let top = Math.max(0, box.top), bottom = Math.min(innerHeight, box.bottom);
    for (const part of sticky) {
      if (part.contains(text) || text.contains(part)) continue;
      const cover = part.getBoundingClientRect();
      if (cover.right <= box.left + 4 || cover.left >= box.right - 4) continue;
      if (cover.top <= top && cover.bottom > top) top = cover.bottom;
      if (cover.bottom >= bottom && cover.top < bottom) bottom = cover.top;
    }
    const inView = bottom - top >= Math.min(80, box.height);
    const linked = [...document.querySelectorAll('a[href^="#"]')].some((link) => {
      const aim = document.getElementById(link.hash.slice(1));
      if (!aim || !(aim === text || aim.contains(text) || text.contains(aim)) || !link.checkVisibility()) return false;
      const place = link.getBoundingClientRect();
      return place.top >= -1 && place.bottom <= innerHeight + 1 && place.width > 2;
    });
    if (!inView && !linked) {
      found.push({ rule: "reach", where, what: `${text.id ? "#" + text.id : "." + text.className} isn't in view, and no link leads to it` });
    }
  }
  }
},

save: () => {
  const save = document.querySelector(".dock .btn.main");
  const answers = [...document.querySelectorAll(".qs :is(.scale, .field, .marking, .ticks, .feedback, textarea)")]
    .filter((element) => element.checkVisibility());
  if (!save || !answers.length || document.documentElement.scrollHeight > innerHeight) return [];
  const texts = document.querySelector(".texts")?.getBoundingClientRect().bottom ?? 0;
  const last = Math.max(texts, ...answers.map((element) => element.getBoundingClientRect().bottom));
  const gap = Math.round(save.getBoundingClientRect().top - last);
  return gap > 160 ? [{ rule: "save", where: "Save", what: `${gap} px below the last answer or text` }] : [];
},
})
