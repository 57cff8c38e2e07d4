/** The environment as a process has it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What a set of variables makes a secret of. */
export interface Recognised {
  readonly capability: string;
  /** Without one of these there is no secret. */
  readonly needs: readonly string[];
  readonly takes: readonly string[];
  /** Variables of which either all or none count. */
  readonly together?: readonly string[];
  /** The fields of a secret that is JSON, those that it may lack apart; absent for one that is the key itself. */
  readonly fields?: { readonly needed: readonly string[]; readonly optional: readonly string[] };
  /** The secret's text, given all that is needed. */
  readonly valueOf: (environment: Environment) => string;
}

/** Every variable that becomes a stored secret at boot, by the capability it serves. */
export const recognised: readonly Recognised[] = [
  plain("llm.anthropic", "ANTHROPIC_API_KEY"),
  plain("slack.send", "SLACK_BOT_TOKEN"),
  plain("speech.deepgram", "DEEPGRAM_API_KEY"),
  fields("google.oauth", {
    client_id: "GOOGLE_CLIENT_ID",
    client_secret: "GOOGLE_CLIENT_SECRET",
    refresh_token: "GOOGLE_REFRESH_TOKEN?",
  }),
  fields(
    "mail.send",
    {
      host: "SMTP_HOST",
      port: "SMTP_PORT?",
      secure: "SMTP_SECURE?",
      user: "SMTP_USER?",
      pass: "SMTP_PASS?",
      from: "SMTP_FROM",
    },
    { defaults: { port: 587 }, together: ["SMTP_USER", "SMTP_PASS"] },
  ),
  fields(
    "mail.read",
    { host: "IMAP_HOST", port: "IMAP_PORT?", secure: "IMAP_SECURE?", user: "IMAP_USER", pass: "IMAP_PASS" },
    { defaults: { port: 993 } },
  ),
  fields("calendar.read", { url: "CALDAV_URL", user: "CALDAV_USER", pass: "CALDAV_PASS" }),
  fields("calendar.write", { url: "CALDAV_URL", user: "CALDAV_USER", pass: "CALDAV_PASS" }),
  fields("crm.write", { url: "CARDDAV_URL", user: "CARDDAV_USER", pass: "CARDDAV_PASS" }),
];

/**
 * A copy of the environment without the variables that hold secrets: what the process that runs agents is started with,
 * by a parent that keeps nothing else in hand. (A variable that a process deletes stays readable in /proc.)
 */
export function cleanEnvironment(environment: Environment): Environment {
  const names = new Set(recognised.flatMap(({ needs, takes }) => [...needs, ...takes]));
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !names.has(name)));
}

function plain(capability: string, name: string): Recognised {
  return { capability, needs: [name], takes: [], valueOf: (environment) => environment[name] ?? "" };
}

/** A secret that is JSON: each field with its variable, those that may be absent with a question mark. */
function fields(
  capability: string,
  variables: Readonly<Record<string, string>>,
  {
    defaults = {},
    together,
  }: { readonly defaults?: Readonly<Record<string, number>>; readonly together?: readonly string[] } = {},
): Recognised {
  const entries = Object.entries(variables).map(([field, variable]) => ({
    field,
    name: variable.replace(/\?$/, ""),
    isNeeded: !variable.endsWith("?"),
  }));
  return {
    capability,
    needs: entries.filter(({ isNeeded }) => isNeeded).map(({ name }) => name),
    takes: entries.filter(({ isNeeded }) => !isNeeded).map(({ name }) => name),
    ...(together === undefined ? {} : { together }),
    fields: {
      needed: entries.filter(({ isNeeded }) => isNeeded).map(({ field }) => field),
      optional: entries.filter(({ isNeeded }) => !isNeeded).map(({ field }) => field),
    },
    valueOf: (environment) => {
      const given = entries.flatMap(({ field, name }) => {
        const text = environment[name];
        return text === undefined || text === "" ? [] : [[field, parseField(field, text)] as const];
      });
      return JSON.stringify({ ...defaults, ...Object.fromEntries(given) });
    },
  };
}

function parseField(field: string, text: string): string | number | boolean {
  if (field === "port" && /^\d{1,5}$/.test(text)) return Number(text);
  if (field === "secure" && /^(?:true|false)$/.test(text)) return text === "true";
  return text;
}
