// Pages around the rating: copying, printing, and the personal link that this browser remembers.
// Each of them is complete without it.

const LINK = "evalsite:link:";
const REFUSED = "evalsite:refused:";

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
  // answered once by each browser, as far as it remembers
  if (memory.read(REFUSED + form.dataset.study)) {
    for (const way of form.querySelectorAll(".actions")) way.hidden = true;
    offer.querySelector("[data-refusal]").hidden = false;
  }
}

for (const button of document.querySelectorAll("[data-copy]")) offerCopying(button);

for (const box of document.querySelectorAll("[data-link]")) {
  if (box.dataset.study) memory.write(LINK + box.dataset.study, box.dataset.link);
}

for (const box of document.querySelectorAll("[data-refused]")) {
  memory.write(REFUSED + box.dataset.refused, "1");
}

for (const form of document.querySelectorAll("form[data-study]")) offerReturn(form);

if (document.querySelector("[data-forget]")) {
  memory.forget(location.pathname.split("/").slice(0, 3).join("/"));
}

for (const place of document.querySelectorAll("[data-print]")) {
  place.hidden = false;
  place.querySelector("button").addEventListener("click", () => print());
}

// Times come as UTC, and are shown in the reader's time zone.
function tellTime(time) {
  const words = new Intl.DateTimeFormat(document.documentElement.lang, { timeStyle: "short" });
  time.textContent = words.format(new Date(time.dateTime));
}

for (const time of document.querySelectorAll("time[data-clock]")) tellTime(time);

// A place that is held while somebody reads or practises: the strip says when its time has passed.
// The server's clock decides how long that is; pressing the button loses nothing on this page.
function watchPlace(strip) {
  const [kept, over] = strip.querySelectorAll(":scope > span");
  const end = Date.now() + Date.parse(strip.dataset.until) - Date.parse(strip.dataset.now);
  const show = () => {
    kept.hidden = Date.now() >= end;
    over.hidden = !kept.hidden;
  };
  setTimeout(show, end - Date.now());
  // timers stop while a computer sleeps
  document.addEventListener("visibilitychange", show);
  over.querySelector("button").addEventListener("click", (event) => {
    event.preventDefault();
    keepPlace(strip, event.target.form);
  });
}

async function keepPlace(strip, form) {
  try {
    const response = await fetch(form.action, { method: "POST", credentials: "omit" });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const again = page.querySelector(".strip[data-until]");
    if (!response.ok || !again) return location.assign(response.url);
    strip.replaceChildren(...again.childNodes);
    Object.assign(strip.dataset, again.dataset);
    for (const time of strip.querySelectorAll("time[data-clock]")) tellTime(time);
    return watchPlace(strip);
  } catch (error) {
    // no network: the browser's own page says so
    if (!(error instanceof TypeError)) throw error;
    return form.submit();
  }
}

for (const strip of document.querySelectorAll(".strip[data-until]")) watchPlace(strip);

// Waiting for a place: the page checks again, and opens the page of a free place.
function waitForPlace(box) {
  const sound = box.querySelector("[data-switch=sound]");
  let audio = null;
  sound.parentElement.hidden = false;
  // a page may only make a sound after a press on it
  sound.addEventListener("change", () => (audio ??= new AudioContext()));

  async function check() {
    const isFree = await askAgain();
    if (!isFree) return setTimeout(check, box.dataset.seconds * 1000);
    if (sound.checked) await beep(audio);
    return location.replace(box.dataset.wait);
  }

  async function askAgain() {
    try {
      const response = await fetch(box.dataset.wait, { cache: "no-store" });
      if (!response.ok) return false;
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const again = page.querySelector("[data-wait] time");
      if (!again) return true;
      const time = box.querySelector("time");
      time.dateTime = again.dateTime;
      tellTime(time);
    } catch (error) {
      // no network: the next try may find one
      if (!(error instanceof TypeError)) throw error;
    }
    return false;
  }

  setTimeout(check, box.dataset.seconds * 1000);
}

function beep(audio) {
  const tone = new OscillatorNode(audio, { frequency: 660 });
  const gain = new GainNode(audio, { gain: 0.2 });
  tone.connect(gain).connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.4);
  return new Promise((resolve) => tone.addEventListener("ended", resolve));
}

for (const box of document.querySelectorAll("[data-wait]")) waitForPlace(box);
