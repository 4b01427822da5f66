// Choosing passages of a text: by mouse, by two taps, and by keyboard alone. What is marked, and
// how it is listed, is for highlight.js and spans.js to say. The button stays pressed, over the
// items of a set, until it is pressed again: letting go of a selection marks it.
// Places count UTF-16 here, and code points in the field that is posted.

export const form = document.querySelector("#work");
// annotate.js looks there, too
const ARMED = "evalsite:armed";

function rememberArmed(isArmed) {
  try {
    if (isArmed) sessionStorage.setItem(ARMED, location.pathname.replace(/items\/.*/, ""));
    else sessionStorage.removeItem(ARMED);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
}

function recallArmed() {
  try {
    return sessionStorage.getItem(ARMED) === location.pathname.replace(/items\/.*/, "");
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    return false;
  }
}

export function make(tag, className, text) {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

function findWords(string, lang) {
  const words = Intl.Segmenter
    ? [...new Intl.Segmenter(lang, { granularity: "word" }).segment(string)]
        .filter((one) => one.isWordLike || /\p{Extended_Pictographic}/u.test(one.segment))
        .map((one) => [one.index, one.index + one.segment.length])
    : findAll(string, /[\p{L}\p{M}\p{N}]+/gu);
  return words.length ? words : findAll(string, /\S+/gu);
}

const findAll = (string, pattern) =>
  [...string.matchAll(pattern)].map((one) => [one.index, one.index + one[0].length]);

// No emoji of several parts is cut, and no space is left at either end; null if nothing is left.
export function tidy(string, start, end) {
  if (Intl.Segmenter) {
    const signs = new Intl.Segmenter().segment(string);
    const last = signs.containing(end - 1);
    start = signs.containing(start).index;
    end = last.index + last.segment.length;
  }
  const found = string.slice(start, end);
  start += found.length - found.trimStart().length;
  end -= found.length - found.trimEnd().length;
  return start < end ? [start, end] : null;
}

const peers = new Map();

// A text of which passages are marked. Spans are [start, end], with a number and a level if they
// are listed under a number; where they overlap, several are about the same words.
export class Markable {
  constructor(text, words, button) {
    this.text = text;
    this.words = words;
    this.button = button;
    this.string = text.textContent;
    this.places = findWords(this.string, text.lang);
    this.mode = null; // or "tap", or "keys"
    this.caret = 0;
    this.spans = [];
    this.points = [...this.string];
    this.hasPairs = this.points.length < this.string.length;
    this.stop = new AbortController();
    peers.set(text, [...(peers.get(text) ?? []), this]);
  }

  // Another one takes its place.
  dispose() {
    this.stop.abort();
    this.here.remove();
    peers.set(this.text, peers.get(this.text).filter((one) => one !== this));
  }

  // How many code points are before a place, and the other way round.
  count(at) {
    return this.hasPairs ? [...this.string.slice(0, at)].length : at;
  }

  placeOf(count) {
    return this.hasPairs ? this.points.slice(0, count).join("").length : count;
  }

  // The one beside a selection; the other is on the page.
  addButton() {
    this.here = make("button", "btn small here", this.button.firstChild.data);
    this.here.type = "button";
    this.here.hidden = true;
    this.text.after(this.here);
  }

  listen() {
    // pressing it must not take the selection away
    this.here.addEventListener("mousedown", (event) => event.preventDefault());
    this.here.addEventListener("click", () => this.markSelection());
    const { signal } = this.stop;
    this.text.addEventListener("click", (event) => this.tap(event), { signal });
    const onBlur = () => this.mode === "keys" && this.leave();
    this.text.addEventListener("blur", onBlur, { signal });
  }

  // --- drawing

  quote([start, end]) {
    return this.string.slice(start, end);
  }

  // This stretch of the text, with what is chosen of it set apart.
  pieces(start, end) {
    const [first, last] = this.chosen ?? [end, end];
    const [from, to] = [Math.max(start, first), Math.min(end, last)];
    if (from >= to) return [this.quote([start, end])];
    const part = make("span", "chosen", this.quote([from, to]));
    return [this.quote([start, from]), part, this.quote([to, end])];
  }

  draw() {
    // another question may mark the same text
    const spans = peers.get(this.text).flatMap((one) => one.spans);
    const begins = groupBy(spans, 0);
    const ends = groupBy(spans, 1);
    const places = [...new Set([0, this.string.length, ...begins.keys(), ...ends.keys()])];
    places.sort((one, other) => one - other);
    const nodes = [];
    const active = new Set();
    places.forEach((start, at) => {
      for (const span of begins.get(start) ?? []) {
        if (span[1] > start) active.add(span);
        else nodes.push(makeMark([span], [span], []));
      }
      const end = places[at + 1];
      if (end === undefined) return;
      const closed = (ends.get(end) ?? []).filter((one) => one[0] < end);
      const pieces = this.pieces(start, end);
      if (active.size) nodes.push(makeMark([...active], closed, pieces));
      else nodes.push(...pieces);
      closed.forEach((one) => active.delete(one));
    });
    this.text.replaceChildren(...nodes);
    this.text.normalize();
    this.text.classList.toggle("choosing", this.mode === "tap");
    this.button.setAttribute("aria-pressed", this.mode !== null);
    this.text.querySelector(".chosen")?.scrollIntoView({ block: "nearest" });
  }

  // --- a selection

  // How many characters of the text are before this point.
  before(node, offset) {
    const range = document.createRange();
    range.selectNodeContents(this.text);
    const side = range.comparePoint(node, offset);
    if (side < 0) return 0;
    if (side === 0) range.setEnd(node, offset);
    return range.toString().length;
  }

  selected() {
    const selection = getSelection();
    if (selection.isCollapsed || !selection.rangeCount) return null;
    const range = selection.getRangeAt(0);
    const { startContainer: first, endContainer: last } = range;
    if (![first, last].some((node) => this.text.contains(node))) return null;
    const start = this.before(first, range.startOffset);
    const end = this.before(last, range.endOffset);
    return start < end ? { start, end, rects: range.getClientRects() } : null;
  }

  markSelection() {
    const found = this.selected();
    if (!found) return false;
    getSelection().removeAllRanges();
    this.putDown();
    this.mark(found.start, found.end);
    this.offerHere();
    return true;
  }

  offerHere() {
    const found = this.mode ? null : this.selected();
    this.here.hidden = !found;
    if (!found) return;
    const { left, right, bottom } = [...found.rects].at(-1);
    const around = this.text.parentElement.getBoundingClientRect();
    const width = this.here.offsetWidth;
    const at = (this.isRightToLeft ? left : right - width) - around.left;
    this.here.style.left = `${Math.max(0, Math.min(at, around.width - width))}px`;
    this.here.style.top = `${bottom - around.top + 4}px`;
  }

  // --- the button: from now on a selection is marked, or from the first to the last word chosen

  start(event) {
    const isMarked = this.markSelection();
    if (this.mode) this.leave(this.words.left);
    else if (event.detail === 0 && !isMarked) this.enter();
    else {
      this.arm();
      if (!isMarked) this.say(this.words.tap);
    }
  }

  arm() {
    this.mode = "tap";
    rememberArmed(true);
    this.draw();
  }

  letGo() {
    this.isMarked = this.mode === "tap" && this.markSelection();
  }

  tap(event) {
    // of a drag the click comes last
    if (this.mode !== "tap" || this.isMarked || this.markSelection()) return;
    this.caret = this.wordAt(event.clientX, event.clientY);
    const isFirst = !this.chosen;
    this.anchor ??= this.caret;
    this.choose();
    if (isFirst) this.say(this.words.first, `${this.quote(this.chosen)}.`, this.words.then);
    else {
      const { chosen } = this;
      this.putDown();
      this.mark(...chosen);
    }
  }

  // The word at a point, else the next one.
  wordAt(x, y) {
    const found = document.caretPositionFromPoint?.(x, y);
    const range = found ? null : document.caretRangeFromPoint(x, y);
    const at = found
      ? this.before(found.offsetNode, found.offset)
      : this.before(range.startContainer, range.startOffset);
    const inside = this.places.findIndex(([start, end]) => start <= at && at < end);
    if (inside >= 0) return inside;
    const next = this.places.findIndex((word) => at <= word[1]);
    return next < 0 ? this.places.length - 1 : next;
  }

  // --- the keyboard

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
    this.say(this.words.enter, this.words.word, this.quote(this.chosen));
  }

  // Nothing is chosen any more; a pressed button stays pressed.
  putDown() {
    if (this.mode === "keys") {
      this.leave();
      return;
    }
    this.anchor = this.chosen = null;
    this.draw();
  }

  leave(said = "") {
    const isKeys = this.mode === "keys";
    if (!isKeys) rememberArmed(false);
    this.mode = this.anchor = this.chosen = null;
    this.draw();
    this.say(said);
    if (!isKeys) return;
    for (const name of ["role", "aria-label", "tabindex"]) this.text.removeAttribute(name);
  }

  choose() {
    const ends = [...this.places[this.caret], ...this.places[this.anchor ?? this.caret]];
    this.chosen = [Math.min(...ends), Math.max(...ends)];
    this.draw();
  }

  move(by, isExtending) {
    this.anchor = isExtending ? (this.anchor ?? this.caret) : null;
    this.caret = Math.max(0, Math.min(this.caret + by, this.places.length - 1));
    this.choose();
    const { word, chosen, isMarked } = this.words;
    const isOne = this.caret === (this.anchor ?? this.caret);
    this.say(isOne ? word : chosen, this.quote(this.chosen), this.markHere() ? isMarked : "");
  }

  markHere() {
    const [start, end] = this.places[this.caret];
    return this.spans.find((span) => span[0] < end && start < span[1]);
  }

  markChosen() {
    this.anchor = null;
    this.mark(...this.chosen);
    this.choose();
  }

  press(event) {
    const { key } = event;
    const forwards = this.isRightToLeft ? -1 : 1;
    const steps = {
      ArrowRight: forwards,
      ArrowLeft: -forwards,
      ArrowUp: -1,
      ArrowDown: 1,
      Home: -Infinity,
      End: Infinity,
    };
    if (key === "Tab" || event.ctrlKey || event.altKey || event.metaKey) return;
    if (steps[key]) this.move(steps[key], event.shiftKey);
    else if (key === "Enter") this.markChosen();
    else if (key === "Delete" || key === "Backspace") {
      const span = this.markHere();
      if (span) this.remove(span);
      else this.say(this.words.nothing);
    } else if (key === "Escape" || key.toLowerCase() === this.letter) {
      this.leave(this.words.left);
      this.origin.focus();
    } else if (key.length > 1) return;
    // no other letter or digit answers a question meanwhile
    event.preventDefault();
  }
}

function groupBy(spans, end) {
  const groups = new Map();
  for (const span of spans) groups.set(span[end], [...(groups.get(span[end]) ?? []), span]);
  return groups;
}

function makeMark(spans, closed, pieces) {
  const mark = document.createElement("mark");
  const level = Math.max(...spans.map((one) => one.level ?? 0));
  if (level) mark.className = level === 1 ? "major" : "critical";
  const numbers = closed.map((one) => one.number).filter(Boolean);
  if (numbers.length) mark.dataset.n = numbers.join(", ");
  mark.append(...pieces);
  return mark;
}

// A letter goes into the text that `find` names, and the keys of a text are its own meanwhile.
export function listen(all, letter, find) {
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.isComposing || document.querySelector("dialog[open]")) return;
      const active = all.find((one) => one.mode);
      if (active?.mode === "keys") active.press(event);
      else if (active && event.key === "Escape") active.leave(active.words.left);
      else if (event.key.toLowerCase() === letter && isFree(event)) {
        event.preventDefault();
        if (active) active.leave(active.words.left);
        else find(event.target)?.enter();
      }
    },
    { capture: true },
  );
  // While a mouse is still choosing, the button would come under it.
  let isDown = false;
  const offer = () => isDown || all.forEach((one) => one.offerHere());
  document.addEventListener("pointerdown", () => {
    isDown = true;
    for (const one of all) one.isMarked = false;
  });
  for (const end of ["pointerup", "pointercancel"]) {
    document.addEventListener(end, (event) => {
      isDown = false;
      // a finger chooses words by tapping them: what it selects is the browser's affair
      if (event.pointerType !== "touch") all.forEach((one) => one.letGo());
      offer();
    });
  }
  document.addEventListener("selectionchange", offer);
  if (recallArmed()) all.forEach((one) => one.arm());
  // what was selected before this script came
  offer();
}

export const isFree = (event) =>
  !(event.ctrlKey || event.altKey || event.metaKey || event.repeat) &&
  form.classList.contains("keys-on") &&
  !event.target.matches("select, textarea, input:not([type=radio], [type=checkbox])");
