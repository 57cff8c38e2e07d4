const name = "countersign.keys";

/** Whether keys decide in this browser; they do unless somebody turned them off. */
export function areKeysOn(): boolean {
  return localStorage.getItem(name) !== "off";
}

/** Afterwards keys decide in this browser, or not. */
export function setKeys(areOn: boolean): void {
  if (areOn) localStorage.removeItem(name);
  else localStorage.setItem(name, "off");
}
