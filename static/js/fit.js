// Pins what fits the window, and nothing else. Without it nothing is pinned: the page scrolls, and
// the bar ".to" leads to each text. It is no module, so that it runs before the page is painted; the
// other scripts call fit() when what they add or take away changes the heights.

const FITTING = {
  wide: matchMedia("(min-width: 62em)"),
  low: matchMedia("(max-height: 30em)"),
  share: { texts: 0.42, part: 0.28, questions: 0.45 }, // of the window's height
};

function fit() {
  const work = document.querySelector(".work");
  if (!work) return pinExamples();
  const page = document.documentElement;
  const texts = work.querySelector(":scope > .wrap > .texts");
  const part = texts?.querySelector("[data-pin]");
  const asked = work.querySelector(".qs[data-pin]");
  const bar = work.querySelector(":scope > .to");
  const dock = work.querySelector(":scope > .dock");
  const head = document.querySelector(".stays");
  const { share } = FITTING;

  // as short as the page can be, without links and pins; then all is measured at once, since each
  // change between two looks makes the browser lay out the whole page again
  work.classList.remove("shown", "far");
  work.classList.add("fits");
  for (const element of [texts, part, asked]) element?.classList.remove("pins", "parts");
  const docked = dock && getComputedStyle(dock).position === "sticky" ? dock.offsetHeight : 0;
  const topped = head ? head.offsetHeight : 0;
  const [high, partHigh, askedHigh] = [texts, part, asked].map((element) => element?.offsetHeight);
  const fits = page.scrollHeight <= innerHeight;

  work.classList.toggle("fits", fits);
  let pinned = 0;
  if (FITTING.low.matches) {
    // the bars alone
  } else if (FITTING.wide.matches) {
    if (texts?.parentElement.classList.contains("beside")) {
      const room = innerHeight - topped - docked - (fits ? 0 : heightOf(bar)) - 24;
      texts.classList.toggle("pins", high <= room);
    }
    work.classList.toggle("far", !fits && !texts?.classList.contains("pins"));
    // what is wrong with the answers stands above the texts, and leaves no room beside pinned ones
    const isLow = !fits && askedHigh <= share.questions * innerHeight;
    asked?.classList.toggle("pins", isLow && !work.querySelector(".problem"));
  } else if (texts && !fits && high <= share.texts * innerHeight) {
    texts.classList.add("pins");
    // outputs among the questions keep their links
    work.classList.toggle("shown", !work.querySelector(".qs .specimen"));
    pinned = texts.offsetHeight;
  } else if (part && !fits && partHigh <= share.part * innerHeight) {
    texts.classList.add("parts");
    part.classList.add("pins");
    pinned = part.offsetHeight;
  }
  const above = bar ?? document.querySelector(".part-head");
  const top = topped + (bar && fits ? 0 : heightOf(above));
  setHeights({ "--dock": docked, "--head": topped, "--top": top, "--pinned": pinned });
}

// Instructions: an example stays beside its text where it fits.
function pinExamples() {
  for (const example of document.querySelectorAll(".eg")) {
    const pins = FITTING.wide.matches && example.offsetHeight <= innerHeight - 48;
    example.classList.toggle("pins", pins);
  }
}

function heightOf(bar) {
  return bar && getComputedStyle(bar).display !== "none" ? bar.offsetHeight : 0;
}

// Nothing is set that the stylesheet says already: each element inherits these, and a change makes
// the browser work out the style of the whole page again.
function setHeights(heights) {
  const page = document.documentElement;
  const styles = getComputedStyle(page);
  const changed = Object.entries(heights)
    .map(([name, pixels]) => [name, `${Math.ceil(pixels)}px`])
    .filter(([name, height]) => styles.getPropertyValue(name) !== height);
  for (const [name, height] of changed) page.style.setProperty(name, height);
}

// The fold of an input stays as it is while items of the same group follow one another.
function keepFold(box) {
  const group = box.dataset.group;
  const key = `evalsite:folded:${location.pathname.replace(/items\/.*/, "")}${group}`;
  try {
    box.checked = group !== undefined && sessionStorage.getItem(key) !== null;
    box.addEventListener("change", () => {
      if (box.checked) sessionStorage.setItem(key, "folded");
      else sessionStorage.removeItem(key);
    });
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
  }
}

for (const box of document.querySelectorAll(".less input")) keepFold(box);

document.addEventListener("change", (event) => event.target.closest(".less") && fit());
document.addEventListener("toggle", (event) => event.target.closest?.(".qs") && fit(), true);
addEventListener("resize", fit);
fit();
