/** What a tool found that its call rests on. */
export interface Precondition {
  readonly kind: string;
  readonly name: string;
  readonly hash: string;
}

export interface Option {
  readonly id: string;
  readonly label: string;
  readonly detail?: string;
}

/** The body of a card as far as it is known here. `rest` is what is not, so that nothing of it is hidden. */
export interface CardBody {
  readonly details: readonly string[];
  readonly units: readonly string[];
  readonly remembers: readonly string[] | undefined;
  readonly lookalikes: readonly string[];
  readonly floorReasons: readonly string[];
  readonly requires: readonly string[];
  readonly message: string | undefined;
  readonly preview: string | undefined;
  readonly preconditions: readonly Precondition[];
  readonly options: readonly Option[];
  readonly role: string | undefined;
  readonly definitionChange: { readonly before: string; readonly after: string } | undefined;
  readonly narration: string | undefined;
  readonly known: string | undefined;
  readonly rest: Readonly<Record<string, unknown>>;
}

/** Shown elsewhere on the card, from the approval's own row. */
const elsewhere = new Set(["tool", "args", "argsHash", "row", "reason", "isEdited"]);

type Fields = Record<string, unknown>;

/** Reads what the server sent as a card, whatever it is: what has another shape than expected is in `rest`. */
export function readCard(card: unknown): CardBody {
  const fields: Fields = isFields(card) ? { ...card } : card === undefined ? {} : { card };
  const take = <T>(name: string, is: (value: unknown) => value is T): T | undefined => {
    const value = fields[name];
    if (!is(value)) return undefined;
    delete fields[name];
    return value;
  };
  const body = {
    details: take("details", isTexts) ?? [],
    units: take("units", isTexts) ?? [],
    remembers: take("remembers", isTexts),
    lookalikes: take("lookalikes", isTexts) ?? [],
    floorReasons: take("floorReasons", isTexts) ?? [],
    requires: take("requires", isTexts) ?? [],
    message: take("message", isText),
    preview: take("preview", isText),
    preconditions: take("preconditions", arePreconditions) ?? [],
    options: take("options", areOptions) ?? [],
    role: take("role", isText),
    definitionChange: take("definitionChange", isChange),
    narration: take("narration", isText),
    known: take("known", isText),
  };
  for (const name of elsewhere) delete fields[name];
  return { ...body, rest: fields };
}

/**
 * What a remembered answer holds: what a rule has to name, or whatever the tool does where it names nothing that it touches.
 * Undefined where no rule can hold it.
 */
export function rememberedOf({
  units,
  remembers,
}: Pick<CardBody, "units" | "remembers">): string[] | "all" | undefined {
  const named = remembers ?? units;
  if (named.length > 0) return [...named];
  return remembers === undefined ? "all" : undefined;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isText = (value: unknown): value is string => typeof value === "string";

const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText);

const arePreconditions = (value: unknown): value is readonly Precondition[] =>
  Array.isArray(value) && value.every((one) => isFields(one) && [one["kind"], one["name"], one["hash"]].every(isText));

const areOptions = (value: unknown): value is readonly Option[] =>
  Array.isArray(value) && value.every((one) => isFields(one) && isText(one["id"]) && isText(one["label"]));

const isChange = (value: unknown): value is { readonly before: string; readonly after: string } =>
  isFields(value) && isText(value["before"]) && isText(value["after"]);
