// Files and folders that are dropped anywhere on the page or chosen are sent at once, each with its
// path in its folder. Without scripts, a button sends files that are chosen, and folders are zipped.

const form = document.querySelector("form[data-takes-files]");
const input = form.querySelector("input[name=file]");
const most = Number(form.dataset.takesFiles);
const status = form.querySelector("[data-dropped]");
const folder = form.querySelector("input[webkitdirectory]");

for (const part of form.querySelectorAll("[data-with-scripts]")) part.hidden = false;
for (const part of form.querySelectorAll("[data-without-scripts]")) part.hidden = true;

function send(found) {
  if (!found.length) return;
  if (found.length > most) {
    status.textContent =
      most === 1
        ? "Only one file can be taken here."
        : `These are ${found.length} files; ${most} can be sent. Put the folder into a ZIP file.`;
    return;
  }
  const files = new DataTransfer();
  for (const { file } of found) files.items.add(file);
  input.files = files.files;
  form.elements.paths.value = JSON.stringify(found.map(({ path }) => path));
  form.elements.pasted.value = "";
  status.textContent = found.length === 1 ? "Sending 1 file…" : `Sending ${found.length} files…`;
  form.setAttribute("aria-busy", "true");
  form.requestSubmit();
}

async function list(entry) {
  if (entry.isFile) {
    const file = await new Promise((done, failed) => entry.file(done, failed));
    return [{ file, path: entry.fullPath.slice(1) }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    // some at a time, until there are no more
    const some = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!some.length) return found;
    for (const one of some) found.push(...(await list(one)));
  }
}

function holdsFiles(event) {
  return event.dataTransfer?.types.includes("Files");
}

addEventListener("dragover", (event) => {
  if (!holdsFiles(event)) return;
  event.preventDefault();
  form.classList.add("ex-dropping");
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) form.classList.remove("ex-dropping");
});
addEventListener("drop", async (event) => {
  form.classList.remove("ex-dropping");
  if (!holdsFiles(event)) return;
  event.preventDefault();
  // all entries at once: the list is empty after the first wait
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry());
  try {
    send((await Promise.all(entries.filter(Boolean).map(list))).flat());
  } catch {
    status.textContent = "The files couldn’t be read. Choose them instead.";
  }
});

// files that are chosen one by one have no folder
input.addEventListener("change", () => {
  send([...input.files].map((file) => ({ file, path: file.name })));
});
folder?.addEventListener("change", () => {
  send([...folder.files].map((file) => ({ file, path: file.webkitRelativePath })));
});
