/** 1 to 9 of a key, of either part of the keyboard; else NaN. */
export function digitOf(key: string): number {
  return /^[1-9]$/.test(key) ? Number(key) : Number.NaN;
}

/**
 * True where a key is meant for the card: pressed once, alone, with the focus on the card itself. Whatever is typed into
 * something, held down, combined, or part of composing a character is not.
 */
export function isForCard(event: KeyboardEvent, card: EventTarget): boolean {
  const isComposing = event.isComposing || event.keyCode === 229;
  const hasModifier = event.ctrlKey || event.altKey || event.metaKey || event.shiftKey;
  return event.target === card && !isComposing && !hasModifier && !event.repeat && !event.defaultPrevented;
}
