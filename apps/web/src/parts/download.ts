/** Hands a text over to the browser as a file. */
export function download(text: string, fileName: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName;
  link.click();
  // Not at once: a browser that asks where to put the file reads it later.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
