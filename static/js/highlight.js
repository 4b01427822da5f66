// Marking passages of a text: by mouse, by touch or single pointer, and by keyboard alone.
// Without this script a box takes the passages, one per line.
// Places are counted in UTF-16 here, and in code points in the field that is posted.

const form = document.querySelector("#work");

// --- texts in pieces ---------------------------------------------------------------

const pointsBefore = (string, at) => [...string.slice(0, at)].length;
const placeOf = (string, points) => [...string].slice(0, points).join("").length;

const WORD = /[\p{L}\p{M}\p{N}]+(?:['’\u200d][\p{L}\p{M}\p{N}]+)*/gu;
const PICTURE = /\p{Extended_Pictographic}/u;

function findWords(string, lang) {
  const spans = (found) => found.map(({ 0: text, index }) => [index, index + text.length]);
  let words = [];
  if (Intl.Segmenter) {
    const pieces = [...new Intl.Segmenter(lang, { granularity: "word" }).segment(string)];
    words = pieces
      .filter((piece) => piece.isWordLike || PICTURE.test(piece.segment))
      .map(({ index, segment }) => [index, index + segment.length]);
  } else words = spans([...string.matchAll(WORD)]);
  return words.length ? words : spans([...string.matchAll(/\S+/gu)]);
}

// What is seen as one sign, such as an emoji of several parts, is never cut, and no space is left
// at either end; null if nothing else is.
function tidy(string, start, end) {
  if (Intl.Segmenter) {
    const signs = new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(string);
    const last = signs.containing(end - 1);
    start = signs.containing(start).index;
    end = last.index + last.segment.length;
  }
  const found = string.slice(start, end);
  start += found.length - found.trimStart().length;
  end -= found.length - found.trimEnd().length;
  return start < end ? [start, end] : null;
}

// As on the server: spans that overlap or touch become one.
function merge(spans) {
  const merged = [];
  for (const [start, end] of [...spans].sort((one, other) => one[0] - other[0])) {
    const last = merged.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged;
}

function make(tag, className, text) {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

// --- one text and its marks ------------------------------------------------------------

class Marks {
  constructor(box) {
    this.box = box;
    this.words = box.dataset;
    this.text = box.parentElement.querySelector("[data-markable]");
    this.string = this.text.textContent;
    this.field = box.querySelector("[data-kept]");
    this.list = box.querySelector("[data-list]");
    this.button = box.querySelector("[data-start]");
    this.places = findWords(this.string, this.text.lang);
    this.caret = 0;
    this.spans = this.read();
    this.rest();
    this.replaceBox();
    this.draw();
    this.listen();
  }

  read() {
    let kept = [];
    try {
      kept = JSON.parse(this.field.value);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
    const spans = kept.map(([start, end]) => [
      placeOf(this.string, start),
      placeOf(this.string, end),
    ]);
    const quotes = kept.map((one) => one[2]);
    return merge(spans.filter(([start, end], at) => this.string.slice(start, end) === quotes[at]));
  }

  rest() {
    this.mode = null; // or "tap", or "keys"
    this.anchor = null;
    this.chosen = null;
  }

  // The box without scripts makes room, and the button takes over its id, where errors link to.
  replaceBox() {
    const passages = this.box.querySelector("[data-without]");
    const { id } = passages.querySelector("textarea");
    passages.remove();
    this.button.id = id;
    this.button.hidden = false;
    this.here = make("button", "btn small here", this.button.firstChild.data);
    this.here.type = "button";
    this.here.hidden = true;
    this.text.after(this.here);
  }

  listen() {
    for (const button of [this.button, this.here]) {
      // pressing it must not take the selection away
      button.addEventListener("mousedown", (event) => event.preventDefault());
    }
    this.here.addEventListener("click", () => this.markSelection());
    this.button.addEventListener("click", (event) => this.start(event));
    this.text.addEventListener("click", (event) => this.tap(event));
    this.text.addEventListener("blur", () => {
      if (this.mode === "keys") this.leave();
    });
  }

  // drawing

  pieces(start, end) {
    const text = (from, to) => this.string.slice(from, to);
    const from = Math.max(start, this.chosen?.[0] ?? end);
    const to = Math.min(end, this.chosen?.[1] ?? end);
    if (from >= to) return [text(start, end)];
    return [text(start, from), make("span", "chosen", text(from, to)), text(to, end)];
  }

  draw() {
    const nodes = [];
    let done = 0;
    for (const [start, end] of this.spans) {
      const mark = document.createElement("mark");
      mark.append(...this.pieces(start, end));
      nodes.push(...this.pieces(done, start), mark);
      done = end;
    }
    nodes.push(...this.pieces(done, this.string.length));
    this.text.replaceChildren(...nodes.filter((node) => node !== ""));
    this.text.classList.toggle("choosing", this.mode === "tap");
    this.button.setAttribute("aria-pressed", this.mode !== null);
    this.text.querySelector(".chosen")?.scrollIntoView({ block: "nearest" });
  }

  drawList() {
    const items = this.spans.map((span) => this.makeEntry(span));
    const name = items.length === 1 ? this.words.one : this.words.many;
    this.box.querySelector("[data-count]").textContent = items.length
      ? `${items.length} ${name}`
      : "";
    this.list.hidden = !items.length;
    this.list.replaceChildren(...items);
  }

  makeEntry(span) {
    const quote = this.string.slice(...span);
    const shown = make("span", "", `“${quote}”`);
    shown.lang = this.text.lang;
    shown.dir = "auto";
    const button = make("button", "plainbtn", this.words.remove);
    button.type = "button";
    button.append(" ", make("span", "vh", `“${quote}”`));
    button.addEventListener("click", () => this.removeFromList(span));
    const item = document.createElement("li");
    item.append(shown, " ", button);
    return item;
  }

  say(...parts) {
    this.box.querySelector("[data-said]").textContent = parts.join(" ");
  }

  // changing

  change(spans) {
    this.spans = spans;
    this.draw();
    this.drawList();
    this.field.value = JSON.stringify(
      spans.map(([start, end]) => [
        pointsBefore(this.string, start),
        pointsBefore(this.string, end),
        this.string.slice(start, end),
      ]),
    );
    // so that the page keeps a draft
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  mark(start, end) {
    const span = tidy(this.string, start, end);
    if (!span) return;
    const spans = merge([...this.spans, span]);
    if (spans.length > Number(this.words.most)) {
      this.say(this.words.full);
      return;
    }
    this.change(spans);
    const whole = spans.find((one) => one[0] <= span[0] && span[1] <= one[1]);
    this.say(this.words.marked, this.string.slice(...whole));
  }

  remove(span) {
    this.change(this.spans.filter((one) => one !== span));
    this.say(this.words.removed, this.string.slice(...span));
  }

  removeFromList(span) {
    const at = this.spans.indexOf(span);
    this.remove(span);
    const left = this.list.querySelectorAll("button");
    (left[Math.min(at, left.length - 1)] ?? this.button).focus();
  }

  // a selection, of a mouse or of long touch

  selected() {
    const selection = getSelection();
    if (selection.isCollapsed || !selection.rangeCount) return null;
    const part = selection.getRangeAt(0).cloneRange();
    const isMine = [part.startContainer, part.endContainer].some((at) => this.text.contains(at));
    if (!isMine) return null;
    const before = document.createRange();
    before.selectNodeContents(this.text);
    if (part.compareBoundaryPoints(Range.START_TO_START, before) < 0) {
      part.setStart(before.startContainer, before.startOffset);
    }
    if (part.compareBoundaryPoints(Range.END_TO_END, before) > 0) {
      part.setEnd(before.endContainer, before.endOffset);
    }
    before.setEnd(part.startContainer, part.startOffset);
    const start = before.toString().length;
    const end = start + part.toString().length;
    const rects = part.getClientRects();
    return start < end && rects.length ? { start, end, rect: rects[rects.length - 1] } : null;
  }

  markSelection() {
    const { start, end } = this.selected() ?? {};
    if (start === undefined) return false;
    getSelection().removeAllRanges();
    this.rest();
    this.mark(start, end);
    this.offerHere();
    return true;
  }

  offerHere() {
    const found = this.mode === "keys" ? null : this.selected();
    this.here.hidden = !found;
    if (!found) return;
    const around = this.text.parentElement.getBoundingClientRect();
    const most = around.width - this.here.offsetWidth;
    const side = this.isRightToLeft ? found.rect.left : found.rect.right - this.here.offsetWidth;
    this.here.style.left = `${Math.max(0, Math.min(side - around.left, most))}px`;
    this.here.style.top = `${found.rect.bottom - around.top + 4}px`;
  }

  // the button: a selection, or the first and the last word

  start(event) {
    if (this.markSelection()) return;
    if (this.mode) this.leave(this.words.left);
    else if (event.detail === 0) this.enter();
    else {
      this.mode = "tap";
      this.draw();
      this.say(this.words.tap);
    }
  }

  tap(event) {
    if (this.mode !== "tap" || this.markSelection()) return;
    const [start, end] = this.places[this.wordAt(event.clientX, event.clientY)];
    if (this.anchor === null) {
      this.anchor = this.chosen = [start, end];
      this.draw();
      this.say(this.words.first, `${this.string.slice(start, end)}.`, this.words.then);
      return;
    }
    const [from, to] = this.anchor;
    this.rest();
    this.mark(Math.min(from, start), Math.max(to, end));
  }

  rectsOf([start, end]) {
    const range = document.createRange();
    const walker = document.createTreeWalker(this.text, NodeFilter.SHOW_TEXT);
    const edge = (at, set) => {
      walker.currentNode = this.text;
      let left = at;
      while (walker.nextNode()) {
        const { length } = walker.currentNode;
        if (left <= length) return set(walker.currentNode, left);
        left -= length;
      }
    };
    edge(start, (node, at) => range.setStart(node, at));
    edge(end, (node, at) => range.setEnd(node, at));
    // at a seam of two nodes the range also has the empty end of the first
    return [...range.getClientRects()].filter((rect) => rect.width);
  }

  // The word at a point or nearest to it.
  wordAt(x, y) {
    const away = (rect) =>
      Math.hypot(
        Math.max(rect.left - x, 0, x - rect.right),
        // a word in the same line is nearer than any other
        Math.max(rect.top - y, 0, y - rect.bottom) * 4,
      );
    const distances = this.places.map((word) => Math.min(...this.rectsOf(word).map(away)));
    return distances.indexOf(Math.min(...distances));
  }

  // the keyboard

  get isRightToLeft() {
    return getComputedStyle(this.text).direction === "rtl";
  }

  enter() {
    const active = document.activeElement;
    this.origin = active.contains(this.text) ? this.button : active;
    this.mode = "keys";
    this.here.hidden = true;
    // a screen reader would otherwise keep the arrows for itself
    this.text.setAttribute("role", "application");
    this.text.setAttribute("aria-label", this.words.text);
    this.text.tabIndex = -1;
    this.text.focus();
    this.choose();
    this.say(this.words.enter, this.words.word, this.string.slice(...this.chosen));
  }

  leave(said = "") {
    const isKeys = this.mode === "keys";
    this.rest();
    this.draw();
    this.say(said);
    if (!isKeys) return;
    for (const name of ["role", "aria-label", "tabindex"]) this.text.removeAttribute(name);
  }

  choose() {
    const ends = [this.caret, this.anchor ?? this.caret].map((at) => this.places[at]);
    this.chosen = [
      Math.min(...ends.map((word) => word[0])),
      Math.max(...ends.map((word) => word[1])),
    ];
    this.draw();
  }

  move(to, isExtending) {
    this.anchor = isExtending ? (this.anchor ?? this.caret) : null;
    this.caret = Math.max(0, Math.min(to, this.places.length - 1));
    this.choose();
    const isOne = this.anchor === null || this.anchor === this.caret;
    const said = [isOne ? this.words.word : this.words.chosen, this.string.slice(...this.chosen)];
    this.say(...said, ...(this.markHere() ? [this.words.isMarked] : []));
  }

  // The word in the line above or below that stands nearest.
  inLine(by) {
    const middles = this.places.map((word) => {
      const rect = this.rectsOf(word)[0] ?? this.text.getBoundingClientRect();
      return [(rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2, rect.height];
    });
    const [x, y, height] = middles[this.caret];
    const lines = middles.map((one) => (one[1] - y) * by).filter((away) => away > height / 2);
    const near = Math.min(...lines) + height / 2;
    const isThere = (one) => (one[1] - y) * by > height / 2 && (one[1] - y) * by < near;
    const there = middles.filter(isThere);
    if (!there.length) return by < 0 ? 0 : middles.length - 1;
    const best = Math.min(...there.map((one) => Math.abs(one[0] - x)));
    return middles.findIndex((one) => isThere(one) && Math.abs(one[0] - x) === best);
  }

  markHere() {
    const [start, end] = this.places[this.caret];
    return this.spans.find((span) => span[0] < end && start < span[1]);
  }

  press(event) {
    const { key } = event;
    const forwards = this.isRightToLeft ? -1 : 1;
    const targets = {
      ArrowRight: () => this.caret + forwards,
      ArrowLeft: () => this.caret - forwards,
      ArrowUp: () => this.inLine(-1),
      ArrowDown: () => this.inLine(1),
      Home: () => 0,
      End: () => this.places.length - 1,
    };
    if (key === "Tab" || event.ctrlKey || event.altKey || event.metaKey) return;
    if (targets[key]) this.move(targets[key](), event.shiftKey);
    else if (key === "Enter") this.markChosen();
    else if (key === "Delete" || key === "Backspace") this.unmark();
    else if (key === "Escape" || key.toLowerCase() === "h") this.goBack();
    else if (key.length > 1) return;
    // no other letter or digit answers a question meanwhile
    event.preventDefault();
  }

  markChosen() {
    const [start, end] = this.chosen;
    this.anchor = null;
    this.mark(start, end);
    this.choose();
  }

  unmark() {
    const span = this.markHere();
    if (span) this.remove(span);
    else this.say(this.words.none);
  }

  goBack() {
    const { origin } = this;
    this.leave(this.words.left);
    origin.focus();
  }
}

// --- all texts of the page -----------------------------------------------------------

const all = [...form.querySelectorAll("[data-marks]")]
  .map((box) => new Marks(box))
  .filter((one) => one.places.length);
for (const one of all) one.drawList();

document.addEventListener(
  "keydown",
  (event) => {
    if (event.isComposing || document.querySelector("dialog[open]")) return;
    const active = all.find((one) => one.mode);
    if (active?.mode === "keys") active.press(event);
    else if (active && event.key === "Escape") active.leave(active.words.left);
    else if (event.key.toLowerCase() === "h" && isFree(event)) {
      event.preventDefault();
      const near = all.find((one) => one.text.parentElement.contains(event.target));
      if (active) active.leave(active.words.left);
      else (near ?? all[0])?.enter();
    }
  },
  { capture: true },
);

function isFree(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return false;
  if (!form.classList.contains("keys-on")) return false;
  return !event.target.matches("textarea, input:not([type=radio], [type=checkbox])");
}

let isDown = false;
const offerAll = () => all.forEach((one) => one.offerHere());
document.addEventListener("pointerdown", () => (isDown = true));
for (const end of ["pointerup", "pointercancel"]) {
  document.addEventListener(end, () => {
    isDown = false;
    offerAll();
  });
}
document.addEventListener("selectionchange", () => {
  // while a mouse is still choosing, the button would come under it
  const isGone = getSelection().isCollapsed;
  if (isGone || !isDown) offerAll();
});
