import { z } from "zod";
import { paragraph, type Place } from "./paragraph.ts";

/** What a tool found out before it asked, and what there is to choose; each part on its own, so that one of a new shape hides no other. */
const sections = z.object({
  details: z.array(z.string()).catch([]),
  units: z.array(z.string()).catch([]),
  remembers: z.array(z.string()).optional().catch(undefined),
  lookalikes: z.array(z.string()).catch([]),
  isEdited: z.boolean().catch(false),
  message: z.string().optional().catch(undefined),
  preview: z.string().optional().catch(undefined),
  preconditions: z.array(z.object({ kind: z.string(), name: z.string(), hash: z.string() })).catch([]),
  options: z.array(z.object({ id: z.string(), label: z.string(), detail: z.string().optional() })).catch([]),
  role: z.string().optional().catch(undefined),
  definitionChange: z.object({ before: z.string(), after: z.string() }).optional().catch(undefined),
});

/**
 * What a remembered answer to a card's call holds: what a rule has to name, or whatever the tool does where it names nothing
 * that it touches. Undefined where no rule can hold it.
 */
export function rememberedOf(card: unknown): string[] | "all" | undefined {
  const { remembers, units } = sections.safeParse(card).data ?? { units: [] };
  if (remembers !== undefined) return remembers.length === 0 ? undefined : remembers;
  return units.length === 0 ? "all" : units;
}

const narrated = z.object({ narration: z.string() });

/** What stands on a card beside details and arguments: every unit, the change as a diff, what it rests on, the options. */
export function cardSections(card: unknown, place: Place): string[] {
  const parsed = sections.safeParse(card).data;
  if (parsed === undefined) return [];
  const { details, units, lookalikes, isEdited, message, preview, preconditions, options, role, definitionChange } =
    parsed;
  const title = (text: string): string => place.style.bold(`  ${text}`);
  // One that a line of the details ends with is shown already, as it is.
  const more = units.filter((unit) => !details.some((line) => line === unit || line.endsWith(`: ${unit}`)));
  return [
    ...(isEdited ? ["", ...paragraph("A person has changed the arguments; below are theirs.", place, 2)] : []),
    ...(more.length === 0 ? [] : ["", title("Touches"), ...more.flatMap((unit) => paragraph(unit, place, 4, 2))]),
    ...(lookalikes.length === 0
      ? []
      : [
          "",
          title("These characters look like others"),
          ...lookalikes.flatMap((line) => paragraph(line, place, 4, 2)),
        ]),
    ...(message === undefined ? [] : ["", ...paragraph(message, place, 2)]),
    ...(preview === undefined ? [] : ["", title("Change"), ...diffLines(preview, place)]),
    ...(preconditions.length === 0
      ? []
      : [
          "",
          title("As long as these stay as they are"),
          ...preconditions.flatMap(({ kind, name, hash }) =>
            paragraph(`${kind} ${name} (${hash.slice(0, 12)})`, place, 4, 2),
          ),
        ]),
    ...(options.length === 0
      ? []
      : [
          "",
          title(role === undefined ? "Pick one" : `Pick one for ${role}`),
          ...options.flatMap(({ id, label, detail }) =>
            paragraph(`${id}  ${label}${detail === undefined ? "" : `, ${detail}`}`, place, 4, 2),
          ),
        ]),
    ...(definitionChange === undefined ? [] : definitionLines(definitionChange, place)),
  ];
}

/** What the model said, last, in a box of its own, and as what it is. */
export function narrationLines(card: unknown, place: Place): string[] {
  const parsed = narrated.safeParse(card).data;
  if (parsed === undefined) return [];
  const { style } = place;
  return [
    "",
    style.dim("  ┌ What the agent says about it. Nobody has checked it"),
    ...paragraph(parsed.narration, place, 4).map((line) => style.dim(`  │ ${line.trimStart()}`)),
    style.dim("  └"),
  ];
}

function diffLines(preview: string, place: Place): string[] {
  const { style } = place;
  return preview.split("\n").flatMap((line) => {
    const shown = paragraph(line, place, 4, 2);
    if (line.startsWith("+")) return shown.map(style.green);
    return line.startsWith("-") ? shown.map(style.red) : shown;
  });
}

function definitionLines({ before, after }: { before: string; after: string }, place: Place): string[] {
  const { style } = place;
  return [
    "",
    style.bold("  The tool is no longer what was agreed to"),
    style.dim("  It said of itself"),
    ...paragraph(before, place, 4, 2).map(style.red),
    style.dim("  It says now"),
    ...paragraph(after, place, 4, 2).map(style.green),
  ];
}
