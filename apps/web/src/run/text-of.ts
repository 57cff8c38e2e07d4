/** What stands in a line's or a result's content, as text: strings as they are, the text blocks of a message, else JSON. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (content === null || content === undefined) return "";
  if (Array.isArray(content)) {
    const texts = content.flatMap((block: unknown) =>
      typeof block === "object" && block !== null && "text" in block && typeof block.text === "string"
        ? [block.text]
        : [],
    );
    if (texts.length > 0 || content.every(isToolUse)) return texts.join("\n\n");
  }
  return JSON.stringify(content, undefined, 2);
}

const isToolUse = (block: unknown): boolean =>
  typeof block === "object" && block !== null && "type" in block && block.type !== "text";
