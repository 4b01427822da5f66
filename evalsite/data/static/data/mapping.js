// A changed select takes effect at once: its form is sent, and the page that comes back stands
// where it stood, with the same select in focus. Without scripts there is a button.

const PLACE = "imports-place";

for (const form of document.querySelectorAll("form[data-sent-by-change]")) {
  for (const button of form.querySelectorAll("[data-without-scripts]")) button.hidden = true;
  form.addEventListener("change", (event) => {
    if (!event.target.matches("select, input[type=text], #systems ~ fieldset input")) return;
    const place = { page: location.pathname, field: event.target.id, top: scrollY };
    sessionStorage.setItem(PLACE, JSON.stringify(place));
    form.setAttribute("aria-busy", "true");
    form.requestSubmit();
  });
}

const kept = JSON.parse(sessionStorage.getItem(PLACE) ?? "null");
sessionStorage.removeItem(PLACE);
if (kept && kept.page === location.pathname) {
  // after the browser went to the anchor of the address, which takes the focus away
  addEventListener("load", () => {
    requestAnimationFrame(() => {
      scrollTo({ top: kept.top, behavior: "instant" });
      document.getElementById(kept.field)?.focus({ preventScroll: true });
    });
  });
}
