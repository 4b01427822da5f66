// What pages of researchers do beyond forms and links; without scripts they work all the same.

// copies a field, or the text of a fold, on a press of the button beside it
for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copy);
    const status = document.getElementById(button.getAttribute("aria-describedby"));
    const fold = field.closest("details");
    try {
      await navigator.clipboard.writeText(field.value ?? field.textContent);
      field.select?.();
      status.textContent = "Copied.";
    } catch {
      if (fold) fold.open = true;
      if (field.select) field.select();
      else getSelection().selectAllChildren(field);
      status.textContent = "Copy it with the keys of your computer: it is selected.";
    }
  });
}

// a menu closes with Escape, which leads back to what opened it, and with a click elsewhere
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
