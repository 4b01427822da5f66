// Questions that list the outputs: an order of them, or the best and the worst. Without it they are
// plain controls. Questions may be replaced, so it listens to the form.

const form = document.querySelector("#work");
const rowsOf = (list) => [...list.children];
const rowOf = (element) => element.closest(":is([data-order], [data-ends]) > li");
const controlOf = (row) => row.querySelector("select, input");
const tell = (control) => control.dispatchEvent(new Event("input", { bubbles: true }));

// --- an order: the places of the boxes are what is sent, and the list follows them ----

const boxOf = (row) => row.querySelector("select");
const placeOf = (row) => Number(boxOf(row).value);
const neededOf = (list) => Number(list.closest("[data-needed]").dataset.needed);
const tieOf = (list) => list.closest("[data-question]").querySelector("[data-tied]");
const mayTie = (list) => tieOf(list)?.checked ?? false;

// Rows by place, best first; those of one place in the order of the page.
function readLevels(list, but = null) {
  const rows = rowsOf(list).filter((row) => row !== but && placeOf(row));
  rows.sort((one, other) => one.dataset.number - other.dataset.number);
  const places = [...new Set(rows.map(placeOf))].sort((one, other) => one - other);
  return places.map((place) => rows.filter((row) => placeOf(row) === place));
}

// Number the places without gaps; what comes after the last one that is asked for has none.
function writeLevels(list, levels) {
  for (const row of rowsOf(list)) boxOf(row).value = "";
  let before = 0;
  levels
    .filter((level) => level.length)
    .forEach((level, index) => {
      if (before < neededOf(list)) for (const row of level) boxOf(row).value = index + 1;
      before += level.length;
    });
  show(list);
  tell(boxOf(rowsOf(list)[0]));
}

function give(row, place) {
  const list = row.parentElement;
  const levels = readLevels(list, row);
  if (place && mayTie(list) && levels[place - 1]) levels[place - 1].push(row);
  else if (place) levels.splice(place - 1, 0, [row]);
  writeLevels(list, levels);
}

// One step: with ties a text joins the next place before it goes past it.
function move(row, by) {
  const list = row.parentElement;
  const levels = readLevels(list);
  const at = levels.findIndex((level) => level.includes(row));
  if (at < 0) {
    if (by < 0) give(row, levels.length + 1);
    return;
  }
  const [level, next] = [levels[at], levels[at + by]];
  if (level.length > 1) {
    levels[at] = level.filter((one) => one !== row);
    levels.splice(at + (by > 0), 0, [row]);
  } else if (next && mayTie(list)) {
    levels[at + by] = [...next, row];
    levels.splice(at, 1);
  } else if (next) {
    levels[at] = next;
    levels[at + by] = level;
  } else return;
  writeLevels(list, levels);
}

function show(list) {
  const rows = rowsOf(list);
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  const sorted = [...rows].sort(
    (one, other) =>
      (placeOf(one) || Infinity) - (placeOf(other) || Infinity) ||
      one.dataset.number - other.dataset.number,
  );
  if (sorted.some((row, index) => row !== rows[index])) list.append(...sorted);
  const placed = sorted.filter(placeOf);
  const levels = new Set(placed.map(placeOf)).size;
  for (const row of sorted) {
    const isAlone = placed.filter((one) => placeOf(one) === placeOf(row)).length < 2;
    row.classList.toggle("open", !placeOf(row));
    row.querySelector("[data-move='-1']").disabled = placeOf(row) === 1 && isAlone;
    row.querySelector("[data-move='1']").disabled = !placeOf(row) || (placeOf(row) === levels && isAlone);
    row.draggable = true;
  }
  const status = list.closest("[data-question]").querySelector("[data-placed]:not(ol)");
  const text = list.dataset.placed.replace("%1", placed.length).replace("%2", neededOf(list));
  if (status.textContent !== text) status.textContent = text;
  if (focused && document.activeElement !== focused) {
    (focused.disabled ? boxOf(rowOf(focused)) : focused).focus();
  }
  globalThis.fit?.();
}

form.addEventListener("change", ({ target }) => {
  if (target.matches("[data-order] select")) give(rowOf(target), Number(target.value));
  else if (target.matches("[data-tied]") && !target.checked) {
    const list = target.closest("[data-question]").querySelector("[data-order]");
    writeLevels(list, readLevels(list).flat().map((row) => [row]));
  }
});

form.addEventListener("click", (event) => {
  const { target } = event;
  const row = rowOf(target);
  if (target.matches("[data-start-over]")) {
    writeLevels(target.closest("[data-question]").querySelector("[data-order]"), []);
  } else if (target.closest("[data-move]")) move(row, Number(target.closest("[data-move]").dataset.move));
  else if (row?.matches("[data-order] > *") && !target.closest("a, select") && !placeOf(row)) {
    if (getSelection().isCollapsed) give(row, readLevels(row.parentElement).length + 1);
  }
});

// Dragged: a text takes the place of the one on which it is let go.
let dragged = null;

form.addEventListener("dragstart", (event) => {
  dragged = rowOf(event.target);
  if (dragged) event.dataTransfer.effectAllowed = "move";
});

form.addEventListener("dragover", (event) => {
  const row = rowOf(event.target);
  if (dragged && row?.parentElement === dragged.parentElement) event.preventDefault();
});

form.addEventListener("drop", (event) => {
  const row = rowOf(event.target);
  if (!dragged || !row || row === dragged || row.parentElement !== dragged.parentElement) return;
  event.preventDefault();
  const levels = readLevels(row.parentElement, dragged);
  const at = levels.findIndex((level) => level.includes(row));
  const isBelow = row.compareDocumentPosition(dragged) & Node.DOCUMENT_POSITION_PRECEDING;
  if (at < 0) levels.push([dragged]);
  else levels.splice(at + (isBelow && placeOf(dragged) ? 1 : 0), 0, [dragged]);
  writeLevels(row.parentElement, levels);
});

form.addEventListener("dragend", () => (dragged = null));

// --- the best and the worst -------------------------------------------------------------

form.addEventListener("change", ({ target }) => {
  if (!target.matches("[data-ends] input") || !target.checked) return;
  const other = [...rowOf(target).querySelectorAll("input")].find((one) => one !== target);
  other.checked = false;
});

// --- keys ---------------------------------------------------------------------------------

// j and k go from text to text, and past the last one to the next question.
function step(row, by) {
  const next = by > 0 ? row.nextElementSibling : row.previousElementSibling;
  if (!next) return false;
  controlOf(next).focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function press(row, event) {
  const key = event.key.toLowerCase();
  if (!event.altKey && (key === "j" || key === "k")) return step(row, key === "j" ? 1 : -1);
  if (row.matches("[data-ends] > *")) {
    const end = event.altKey ? null : row.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (!end) return false;
    end.checked = true;
    end.focus();
    end.dispatchEvent(new Event("change", { bubbles: true }));
    return true;
  }
  const by = { arrowup: -1, arrowdown: 1 }[key];
  if (event.altKey) {
    if (by) move(row, by);
    return Boolean(by);
  }
  const place = key === "0" ? 10 : Number(key);
  if (key === "enter") form.querySelector(".dock .main").click();
  else if (key === "backspace" || key === "delete") give(row, 0);
  else if (/^[0-9]$/.test(key) && place <= neededOf(row.parentElement)) give(row, place);
  else return false;
  return true;
}

form.addEventListener("keydown", (event) => {
  const row = rowOf(event.target);
  const areOff = !form.matches(".keys-on") && !event.target.matches("select");
  if (!row || areOff || event.ctrlKey || event.metaKey || event.isComposing) return;
  if (press(row, event)) event.preventDefault();
});

// The keys of texts also work before one of them is chosen: on the first.
document.addEventListener(
  "keydown",
  (event) => {
    const list = form.querySelector(".current :is([data-order], [data-ends])");
    const isFree = event.target === document.body || event.target.matches("h1, main");
    if (!list || !isFree || !form.matches(".keys-on") || event.ctrlKey || event.metaKey) return;
    if (event.altKey || !/^[0-9bjw]$/.test(event.key)) return;
    const row = rowsOf(list)[0];
    controlOf(row).focus();
    if (event.key === "j" || press(row, event)) event.preventDefault();
  },
  { capture: true },
);

// --- start ----------------------------------------------------------------------------------

function start() {
  for (const list of form.querySelectorAll("[data-order]")) {
    if (!boxOf(list).disabled) {
      const placed = rowsOf(list).map(placeOf).filter(Boolean);
      const tie = tieOf(list);
      if (tie) tie.checked = new Set(placed).size < placed.length;
      show(list);
    }
  }
}

form.addEventListener("replaced", start);
form.addEventListener("restored", start);
start();
