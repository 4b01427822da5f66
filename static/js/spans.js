// Passages with a category, a severity and a note: listed below their question, and drawn in the
// texts under their numbers. Without scripts there are rows to fill in instead.

import { form, isFree, listen, make, Markable, tidy } from "./marking.js";

// from more marks on, a row gets its categories when it is used: they would be many thousands
const MANY = 100;

const change = (control) => control.dispatchEvent(new Event("input", { bubbles: true }));

// One of the texts in which a question marks passages; of a conversation, one of its turns.
class Passages extends Markable {
  letter = "m";

  constructor(question, column, name, text) {
    super(text, { ...question.words, text: name }, question.button);
    this.question = question;
    this.column = column;
    this.turn = Number(text.dataset.turn ?? 0);
    this.addButton();
    this.listen();
  }

  say(...parts) {
    this.question.say(...parts);
  }

  // A selection over several turns is one in the first of them.
  selected() {
    const found = super.selected();
    const { anchorNode: from, focusNode: to } = getSelection();
    const isMet = ({ text }) => text.contains(from) || text.contains(to);
    return found && this.question.texts.find(isMet) === this ? found : null;
  }

  enter() {
    this.question.last = this;
    super.enter();
  }

  // Into another text: Esc leads back to where the first one was entered from.
  goTo(next) {
    const { origin } = this;
    this.leave();
    next.enter();
    next.origin = origin;
  }

  // Behind the last word of a turn comes the first one of the next.
  move(by, isExtending) {
    const isAtEnd = this.caret === (by < 0 ? 0 : this.places.length - 1);
    const next = this.question.texts[this.question.texts.indexOf(this) + Math.sign(by)];
    const isOn = isAtEnd && !isExtending && next?.column === this.column;
    if (!isOn || Math.abs(by) > 1) {
      super.move(by, isExtending);
      return;
    }
    next.caret = by < 0 ? next.places.length - 1 : 0;
    this.goTo(next);
    next.say(`${next.words.text}:`, next.words.word, next.quote(next.chosen));
  }

  mark(start, end) {
    const span = tidy(this.string, start, end);
    if (span) this.question.add(this, span);
  }

  markChosen() {
    const { chosen } = this;
    this.leave();
    this.mark(...chosen);
  }

  remove(span) {
    const { caret } = this;
    this.question.remove(span.of);
    this.caret = caret;
    this.choose();
  }

  // The shortest of the marks here is the one that is meant.
  markHere() {
    const [start, end] = this.places[this.caret];
    const met = this.spans.filter((one) => one[0] < end && start < one[1]);
    return met.sort((one, other) => one[1] - one[0] - (other[1] - other[0]))[0];
  }

  press(event) {
    const key = event.key.toLowerCase();
    const isPlain = !(event.ctrlKey || event.altKey || event.metaKey);
    if (isPlain && key === "o" && this.question.missing) {
      event.preventDefault();
      this.question.addMissing(this);
    } else if (isPlain && key === "m" && this.question.nextTo(this)) {
      event.preventDefault();
      this.goTo(this.question.nextTo(this));
    } else super.press(event);
  }
}

let made = 0;

class Question {
  constructor(box) {
    this.box = box;
    this.words = box.dataset;
    this.button = this.find("start");
    this.missing = this.find("missing");
    this.field = this.find("kept");
    this.list = this.find("list");
    this.none = box.querySelector('[name$=".none"]');
    this.takeOver();
    const places = [...box.querySelectorAll("data")];
    const isThere = (place) => document.getElementById(place.dataset.text);
    this.texts = places
      .filter(isThere)
      .flatMap((place) => this.findTexts(place))
      .filter((one) => one.places.length);
    this.last = this.texts[0];
    this.marks = JSON.parse(this.field.value || "[]").map((one) => this.read(one)).filter(Boolean);
    this.list.replaceChildren();
    this.list.append(...this.marks.map((mark) => this.makeRow(mark)));
    this.settle();
    this.listen();
  }

  find(name) {
    return this.box.querySelector(`[data-${name}]`);
  }

  findTexts({ dataset, value, textContent: name }) {
    const around = document.getElementById(dataset.text);
    const turns = [...around.querySelectorAll(".text[data-turn]")];
    if (!turns.length) return [new Passages(this, value, name, around.querySelector(".text, .mr"))];
    return turns.map((text) => {
      const turn = this.words.turn.replace("%s", text.dataset.turn);
      return new Passages(this, value, `${name}, ${turn}`, text);
    });
  }

  say(...parts) {
    this.find("said").textContent = parts.join(" ");
  }

  // The button takes over the id of the first row, where errors link to.
  takeOver() {
    const without = this.find("without");
    this.button.id = without.querySelector("textarea").id;
    without.remove();
  }

  listen() {
    // pressing it must not take a selection away
    for (const button of [this.button, this.missing]) {
      button?.addEventListener("mousedown", (event) => event.preventDefault());
    }
    this.button.addEventListener("click", (event) => this.start(event));
    this.missing?.addEventListener("click", () => this.addMissing());
    // what is sent is the field: a row by itself answers nothing, and moves nothing on
    this.list.addEventListener("change", (event) => event.stopPropagation());
    this.list.addEventListener("input", (event) => {
      event.stopPropagation();
      this.take(event.target);
    });
    this.list.addEventListener("keydown", (event) => this.press(event));
    for (const use of ["focusin", "pointerdown"]) {
      this.list.addEventListener(use, ({ target }) => target.matches("select") && this.fill(target));
    }
    this.none?.addEventListener("change", () => {
      if (this.none.checked && this.marks.length) {
        this.none.checked = false;
        this.say(this.words.beside);
      }
      this.settle();
    });
  }

  nextTo(text) {
    const at = this.texts.indexOf(text) + 1;
    return this.texts.length > 1 ? this.texts[at % this.texts.length] : null;
  }

  start(event) {
    const selected = this.texts.find((one) => one.selected());
    const active = this.texts.filter((one) => one.mode);
    if (selected) selected.markSelection();
    else if (active.length) active.forEach((one) => one.leave(this.words.left));
    else if (event.detail === 0) this.last?.enter();
    else {
      this.texts.forEach((one) => one.arm());
      this.say(this.words.tap);
    }
  }

  // --- marks: what is posted of each, and its place in the text as this script counts

  read(entry) {
    const { in: column = "output", turn = 0 } = entry;
    const text = this.texts.find((one) => one.column === column && one.turn === turn);
    if (!text || entry.start === undefined) return null;
    const span = [text.placeOf(entry.start), text.placeOf(entry.end)];
    const { category = "", severity = "", note = "" } = entry;
    const mark = { text, span, category, severity, note, isMissing: Boolean(entry.missing) };
    span.of = mark;
    return mark;
  }

  write(mark) {
    const { text, span, category, severity, note } = mark;
    const entry = text.column === "output" ? {} : { in: text.column };
    if (text.turn) entry.turn = text.turn;
    Object.assign(entry, {
      start: text.count(span[0]),
      end: text.count(span[1]),
      quote: text.quote(span),
    });
    if (mark.isMissing) entry.missing = true;
    for (const [name, value] of Object.entries({ category, severity, note })) {
      if (value) entry[name] = value;
    }
    return entry;
  }

  add(text, span, isMissing = false) {
    if (this.marks.length >= this.words.most) {
      this.say(this.words.full);
      return;
    }
    const isAlike = (one) =>
      one.text === text && one.span[0] === span[0] && one.span[1] === span[1];
    const again = this.marks.find(isAlike);
    // without categories one place has one mark; with them, one that has none yet is meant
    if (again && (!again.select || !again.select.value)) {
      this.say(this.words.twice);
      this.focusRow(again);
      return;
    }
    const category = isMissing ? this.words.category : "";
    const mark = { text, span, category, severity: "", note: "", isMissing };
    span.of = mark;
    this.marks.push(mark);
    this.makeRow(mark);
    if (this.none) this.none.checked = false;
    this.keep();
    this.say(this.words.marked, this.name(mark));
    this.focusRow(mark);
  }

  // Something is missing after the word that is chosen, after a selection, or at the end.
  addMissing(text = this.texts.find((one) => one.chosen || one.selected()) ?? this.findEnd()) {
    if (!text) return;
    const place = text.chosen?.[1] ?? text.selected()?.end ?? text.string.length;
    getSelection().removeAllRanges();
    if (text.mode) text.putDown();
    this.add(text, [place, place], true);
  }

  findEnd() {
    return this.texts.findLast((one) => one.column === this.texts[0].column);
  }

  remove(mark) {
    const at = this.marks.indexOf(mark);
    this.marks.splice(at, 1);
    mark.row.remove();
    this.keep();
    this.say(this.words.removed, this.name(mark));
    return at;
  }

  name(mark) {
    return mark.isMissing ? this.words.omission : mark.text.quote(mark.span);
  }

  // Post it, and draw it: marks in the order of the texts.
  keep() {
    this.settle();
    const entries = this.marks.map((one) => this.write(one));
    this.field.value = entries.length ? JSON.stringify(entries) : "";
    change(this.field);
    globalThis.fit?.();
  }

  settle() {
    const place = ({ text, span }) => [this.texts.indexOf(text), ...span];
    this.marks.sort((one, other) => {
      const [first, second] = [place(one), place(other)];
      const at = first.findIndex((value, index) => value !== second[index]);
      return at < 0 ? 0 : first[at] - second[at];
    });
    this.marks.forEach((mark, index) => this.number(mark, index + 1));
    for (const text of this.texts) {
      text.spans = this.marks.filter((one) => one.text === text).map((one) => one.span);
      text.draw();
    }
    const isDone = this.marks.length
      ? this.marks.every((one) => this.isComplete(one))
      : this.none?.checked;
    this.box.dataset.complete = isDone ? "yes" : "no";
  }

  isComplete({ select, radios, severity, box }) {
    const isNoted = !box?.required || box.value.trim() !== "";
    return (!select || select.value !== "") && (!radios.length || severity !== "") && isNoted;
  }

  // --- rows

  makeRow(mark) {
    const row = this.find("row").content.firstElementChild.cloneNode(true);
    mark.row = row;
    mark.place = made++;
    mark.select = row.querySelector("[data-category]");
    mark.radios = [...row.querySelectorAll("[type=radio]")];
    mark.box = row.querySelector("[data-note]");
    const quote = row.querySelector("[data-quote]");
    quote.lang = mark.text.text.lang;
    quote.textContent = mark.isMissing ? this.words.omission : `“${mark.text.quote(mark.span)}”`;
    const turn = row.querySelector("[data-turn]");
    turn.hidden = !mark.text.turn;
    turn.textContent = this.words.turn.replace("%s", mark.text.turn);
    if (mark.select) {
      if (this.marks.length > MANY) this.empty(mark);
      mark.select.value = mark.category;
      mark.select.disabled = mark.isMissing && Boolean(this.words.category);
    }
    if (mark.box) mark.box.value = mark.note;
    row.querySelector("[data-remove]").addEventListener("click", () => {
      const next = this.marks[this.remove(mark)] ?? this.marks.at(-1);
      (next?.row.querySelector("[data-remove]") ?? this.button).focus();
    });
    this.offer(mark);
    return row;
  }

  // Only the category that is chosen, and the others once they are needed.
  empty({ select, category }) {
    const chosen = category && select.querySelector(`[value="${CSS.escape(category)}"]`);
    select.replaceChildren(select.options[0], ...(chosen ? [chosen] : []));
    select.dataset.isShort = "";
  }

  fill(select) {
    if (!("isShort" in select.dataset)) return;
    const { value } = select;
    delete select.dataset.isShort;
    const whole = this.find("row").content.querySelector("[data-category]").cloneNode(true);
    select.replaceChildren(...whole.childNodes);
    select.value = value;
    this.offer(this.marks.find((one) => one.select === select));
  }

  number(mark, number) {
    const { row, select, radios } = mark;
    if (this.list.children[number - 1] !== row) {
      this.list.insertBefore(row, this.list.children[number - 1] ?? null);
    }
    if (mark.span.number === number) return;
    mark.span.number = number;
    row.querySelector("[data-number]").textContent = number;
    const named = `${number}, ${this.name(mark)}`;
    row.querySelector("[data-remove] .vh").textContent = ` ${named}`;
    const label = (name) => row.querySelector(`[data-of-${name}]`).textContent.replace("%s", named);
    select?.setAttribute("aria-label", label("category"));
    row.querySelector("[data-severity]")?.setAttribute("aria-label", label("severity"));
    // those of the row that had this number aren't in one group with these
    for (const radio of radios) radio.name = `${this.box.id}-severity-${mark.place}`;
  }

  // Only the categories of this text, and the severities of the category, can be chosen.
  offer(mark) {
    const { select, radios, text } = mark;
    for (const option of select?.querySelectorAll("option[value]:not([value=''])") ?? []) {
      const columns = (option.dataset.in || this.words.in).split(" ");
      option.disabled = !columns.includes(text.column);
    }
    const kept = select?.selectedOptions[0]?.dataset.severities?.split(" ").filter(Boolean) ?? [];
    for (const radio of radios) radio.disabled = kept.length > 0 && !kept.includes(radio.value);
    const free = radios.filter((one) => !one.disabled);
    if (free.length === 1) mark.severity = free[0].value;
    else if (!free.some((one) => one.value === mark.severity)) mark.severity = "";
    for (const radio of radios) radio.checked = radio.value === mark.severity;
    mark.span.level = this.findLevel(mark);
  }

  findLevel({ severity }) {
    const weights = (this.words.levels ?? "").split(" ").map((one) => one.split(":"));
    return Number(weights.find(([key]) => key === severity)?.[1] ?? 0);
  }

  take(control) {
    const mark = this.marks.find((one) => one.row.contains(control));
    if (!mark) return;
    if (control === mark.select) {
      mark.category = control.value;
      if ("covers" in control.selectedOptions[0].dataset) this.cover(mark);
    } else if (control === mark.box) mark.note = control.value;
    else if (control.checked) mark.severity = control.value;
    this.offer(mark);
    this.keep();
  }

  cover(mark) {
    mark.span[0] = 0;
    mark.span[1] = mark.text.string.length;
    mark.row.querySelector("[data-quote]").textContent = `“${mark.text.quote(mark.span)}”`;
    if (this.marks.length > 1) this.say(this.words.whole);
  }

  focusRow({ select, radios, box, row }) {
    const control = [select?.disabled ? null : select, ...radios, box].find(Boolean);
    control?.focus();
    row.scrollIntoView({ block: "nearest" });
  }

  // Digits are the severities of the row in which one is.
  press(event) {
    const mark = this.marks.find((one) => one.row.contains(event.target));
    const radio = /^[1-9]$/.test(event.key) && mark?.radios[event.key - 1];
    if (!radio || radio.disabled || event.target === mark.box) return;
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (!form.classList.contains("keys-on")) return;
    event.preventDefault();
    radio.checked = true;
    radio.focus();
    change(radio);
  }
}

const all = [];
let questions = [];

function bind() {
  const isArmed = all.some((one) => one.mode === "tap");
  all.forEach((one) => one.dispose());
  questions = [...form.querySelectorAll("[data-spans]")].map((box) => new Question(box));
  all.splice(0, all.length, ...questions.flatMap((one) => one.texts));
  if (isArmed) all.forEach((one) => one.arm());
}

const isAsked = ({ question }) => !question.box.closest("[hidden]");

function near(target) {
  const asked = all.filter(isAsked);
  const isNear = (one) =>
    one.question.box.contains(target) || one.text.parentElement.contains(target);
  const found = asked.find(isNear) ?? asked.find((one) => one.question.box.dataset.complete !== "yes") ?? asked[0];
  return found?.text.parentElement.contains(target) ? found : found?.question.last;
}

bind();
listen(all, "m", near);
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "o" || !isFree(event)) return;
  const { question } = near(event.target) ?? {};
  if (!question?.missing || event.defaultPrevented) return;
  event.preventDefault();
  question.addMissing();
});
// the server's questions came in place of these
form.addEventListener("replaced", bind);
