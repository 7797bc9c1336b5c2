// Capture files from the user: chosen, or dropped on the page.

import { html, type TemplateResult } from "lit";
import { router } from "../../shell/routing.js";
import { FILE, leaveFile } from "./stream-source.js";

const PATH = `/streams/${FILE}`;

/** Returns the field. `reopen` is called if the view of files is in sight already. */
export function fileField(reopen: () => void): TemplateResult {
  const take = (event: Event) => {
    const field = event.target as HTMLInputElement;
    const file = field.files?.[0];
    field.value = "";
    if (file) show(file, reopen);
  };
  return html`<label class="file-button">Open capture<input class="sr" type="file" @change=${take}></label>`;
}

/** Takes files that are dropped anywhere on the page. Returns a function that ends it. */
export function takesFiles(reopen: () => void): () => void {
  const over = (event: DragEvent) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  };
  const drop = (event: DragEvent) => {
    const file = event.dataTransfer?.files[0];
    if (!file) return;
    event.preventDefault();
    show(file, reopen);
  };
  document.addEventListener("dragover", over);
  document.addEventListener("drop", drop);
  return () => {
    document.removeEventListener("dragover", over);
    document.removeEventListener("drop", drop);
  };
}

function show(file: File, reopen: () => void): void {
  leaveFile(file);
  if (location.pathname === PATH) reopen();
  else router.go(PATH);
}
