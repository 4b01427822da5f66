// Highlights: passages of an output, without anything else said of them. Those that overlap or
// touch become one. Without scripts a box does. The rating page fetches this when it is first asked
// for.

import { form, listen, make, Markable, tidy } from "./marking.js";

// As on the server: spans that overlap or touch become one.
function merge(spans) {
  const merged = [];
  for (const [start, end] of spans.sort((one, other) => one[0] - other[0])) {
    const last = merged.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else merged.push([start, end]);
  }
  return merged;
}

class Highlights extends Markable {
  letter = "h";

  constructor(box) {
    const find = (name) => box.querySelector(`[data-${name}]`);
    super(form.querySelector(`[data-markable="${box.dataset.marks}"]`), box.dataset, find("start"));
    this.find = find;
    this.field = find("kept");
    this.spans = JSON.parse(this.field.value).map((one) =>
      one.slice(0, 2).map((count) => this.placeOf(count)),
    );
    this.addButton();
    // a text without marks stays as it is, and what is selected in it
    if (this.spans.length) this.draw();
    this.drawList();
    this.listen();
    this.button.addEventListener("click", (event) => this.start(event));
  }

  drawList() {
    const list = this.find("list");
    const { length } = this.spans;
    this.find("count").textContent =
      length === 1 ? this.words.one : this.words.many.replace("%s", length);
    this.find("shown").hidden = !length;
    list.replaceChildren(...this.spans.map((span) => this.makeEntry(span)));
  }

  makeEntry(span) {
    const shown = make("q", "", this.quote(span));
    shown.lang = this.text.lang;
    shown.dir = "auto";
    const button = make("button", "plainbtn", this.words.remove);
    button.type = "button";
    button.append(" ", make("span", "vh", `“${this.quote(span)}”`));
    button.addEventListener("click", () => {
      const at = this.spans.indexOf(span);
      this.remove(span);
      const left = this.find("list").querySelectorAll("button");
      (left[at] ?? left[at - 1] ?? this.button).focus();
    });
    const entry = make("li", "", "");
    entry.append(shown, " ", button);
    return entry;
  }

  say(...parts) {
    this.find("said").textContent = parts.join(" ");
  }

  // --- changing

  change(spans) {
    this.spans = spans;
    this.draw();
    this.drawList();
    this.field.value = JSON.stringify(
      spans.map((span) => [...span.map((at) => this.count(at)), this.quote(span)]),
    );
    // so that the page keeps a draft
    this.field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  mark(start, end) {
    const span = tidy(this.string, start, end);
    if (!span) return;
    const spans = merge([...this.spans, span]);
    if (spans.length > this.words.most) {
      this.say(this.words.full);
      return;
    }
    this.change(spans);
    const whole = spans.find((one) => one[0] <= span[0] && span[1] <= one[1]);
    this.say(this.words.marked, this.quote(whole));
  }

  remove(span) {
    this.change(this.spans.filter((one) => one !== span));
    this.say(this.words.removed, this.quote(span));
  }
}

const all = [...form.querySelectorAll("[data-marks]")]
  .map((box) => new Highlights(box))
  .filter((one) => one.places.length);
listen(all, "h", (target) => all.find((one) => one.text.parentElement.contains(target)) ?? all[0]);
