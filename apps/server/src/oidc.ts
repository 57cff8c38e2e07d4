import { createHash, randomBytes } from "node:crypto";
import type { Queryable, Tx } from "@countersign/db/connect.ts";
import { createRemoteJWKSet, errors, jwtVerify } from "jose";
import { z } from "zod";
import { Problem } from "./problem.ts";

/** An identity provider, and what this server is to it. */
export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** A person as the provider knows them; `email` only where the provider says that it is theirs. */
export interface Identity {
  readonly subject: string;
  readonly email: string | undefined;
}

/** Nobody is signed in through the provider. `why` goes into the address of the page that says so. */
export class SignInRefused extends Problem {
  readonly why: (typeof whysOfRefusal)[number];

  constructor(why: (typeof whysOfRefusal)[number], message: string) {
    super("sign_in_refused", message);
    this.why = why;
  }
}

const whysOfRefusal = [
  "provider_said_no",
  "not_begun_here",
  "too_late",
  "no_account",
  "several_accounts",
  "no_identity",
] as const;

/** OpenID Connect by authorization code with PKCE. https://openid.net/specs/openid-connect-core-1_0.html */
export interface Oidc {
  readonly issuer: string;
  /** Where to send the browser, and the value that it alone keeps until it comes back. */
  leave(sql: Queryable, callbackUrl: string): Promise<{ readonly url: string; readonly flow: string }>;
  /** Who came back. Refuses with `sign_in_refused` whatever is not the answer to what this browser began. */
  comeBack(sql: Queryable, callbackUrl: string, flow: string | undefined, answer: URLSearchParams): Promise<Identity>;
}

const metadataSchema = z.object({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  jwks_uri: z.url(),
});
type Metadata = z.infer<typeof metadataSchema> & { readonly keys: ReturnType<typeof createRemoteJWKSet> };

const tokensSchema = z.object({ id_token: z.string() });
const claimsSchema = z.object({
  sub: z.string().min(1).max(255),
  nonce: z.string(),
  email: z.string().optional(),
  email_verified: z.boolean().optional(),
});

const timeoutMs = 10_000;

/** Reads the provider's description when it is first needed, and again after a failure. */
export function createOidc({ issuer, clientId, clientSecret }: OidcConfig): Oidc {
  let described: Promise<Metadata> | undefined;
  const describe = async (): Promise<Metadata> => {
    described ??= readMetadata(issuer);
    try {
      return await described;
    } catch (error) {
      described = undefined;
      throw error;
    }
  };

  return {
    issuer,
    async leave(sql, callbackUrl) {
      const { authorization_endpoint: endpoint } = await describe();
      const [flow, verifier, nonce] = [secret(), secret(), secret()];
      await sql.unsafe(
        `with old as (delete from sign_ins where expires_at < clock_timestamp())
         insert into sign_ins (hash, verifier, nonce, expires_at)
         values ($1, $2, $3, clock_timestamp() + interval '10 minutes')`,
        [hashOf(flow), verifier, nonce],
      );
      const url = new URL(endpoint);
      const query = {
        response_type: "code",
        client_id: clientId,
        redirect_uri: callbackUrl,
        scope: "openid email",
        state: hashOf(flow),
        nonce,
        code_challenge: hashOf(verifier),
        code_challenge_method: "S256",
      };
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      return { url: url.href, flow };
    },

    async comeBack(sql, callbackUrl, flow, answer) {
      const said = answer.get("error");
      if (said !== null) throw refused("provider_said_no", `The provider said ${JSON.stringify(said.slice(0, 60))}.`);
      const code = answer.get("code");
      if (flow === undefined || code === null || answer.get("state") !== hashOf(flow)) {
        throw refused("not_begun_here", "This is not the answer to a sign-in that this browser began.");
      }
      const [begun] = await sql.unsafe<{ verifier: string; nonce: string }[]>(
        "delete from sign_ins where hash = $1 and expires_at > clock_timestamp() returning verifier, nonce",
        [hashOf(flow)],
      );
      if (begun === undefined)
        throw refused("too_late", "This sign-in was finished before, or took longer than 10 minutes.");
      const metadata = await describe();
      const client = { clientId, clientSecret };
      const idToken = await redeem(metadata, client, { code, callbackUrl, verifier: begun.verifier });
      return await readIdentity(metadata, clientId, idToken, begun.nonce);
    },
  };
}

/**
 * The user that an identity stands for: the one it was bound to, else the one person whose address it proves to have,
 * bound to it from then on. Refuses with `sign_in_refused` where there is none, or more than one.
 */
export async function findUserOf(
  tx: Tx,
  issuer: string,
  { subject, email }: Identity,
): Promise<{ readonly workspaceId: string; readonly userId: string }> {
  const found = await tx.unsafe<{ workspaceId: string; userId: string; isBound: boolean }[]>(
    `select u.workspace_id as "workspaceId", u.id as "userId", i.user_id is not null as "isBound"
       from users u
       left join identities i on i.user_id = u.id and i.issuer = $1 and i.subject = $2
      where u.disabled_at is null and not u.is_service
        and (i.user_id is not null
             or (lower(u.email) = lower($3)
                 and not exists (select from identities x where (x.issuer, x.subject) = ($1, $2) or (x.issuer = $1 and x.user_id = u.id))))`,
    [issuer, subject, email ?? null],
  );
  const [user, another] = found;
  if (user === undefined) {
    throw refused(
      "no_account",
      "No enabled account here is yours. Ask an administrator to make one with your e-mail address.",
    );
  }
  if (another !== undefined)
    throw refused("several_accounts", "More than one account has your e-mail address. Ask an administrator.");
  const { workspaceId, userId, isBound } = user;
  if (!isBound) {
    await tx.unsafe(
      "insert into identities (issuer, subject, workspace_id, user_id) values ($1, $2, $3::uuid, $4::uuid)",
      [issuer, subject, workspaceId, userId],
    );
  }
  return { workspaceId, userId };
}

async function readMetadata(issuer: string): Promise<Metadata> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const metadata = metadataSchema.safeParse(await fetchJson(url, {}));
  if (!metadata.success || metadata.data.issuer !== issuer) {
    throw unavailable(`${url} is not the description of ${issuer}`);
  }
  return {
    ...metadata.data,
    keys: createRemoteJWKSet(new URL(metadata.data.jwks_uri), { timeoutDuration: timeoutMs }),
  };
}

async function redeem(
  { token_endpoint: endpoint }: Metadata,
  { clientId, clientSecret }: Pick<OidcConfig, "clientId" | "clientSecret">,
  { code, callbackUrl, verifier }: { readonly code: string; readonly callbackUrl: string; readonly verifier: string },
): Promise<string> {
  const credentials = [clientId, clientSecret].map((part) => encodeURIComponent(part)).join(":");
  const body = { grant_type: "authorization_code", code, redirect_uri: callbackUrl, code_verifier: verifier };
  const answered = await fetchJson(endpoint, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` },
    body: new URLSearchParams(body),
  });
  const tokens = tokensSchema.safeParse(answered);
  if (!tokens.success) throw refused("no_identity", "The provider gave no identity for this sign-in.");
  return tokens.data.id_token;
}

async function readIdentity({ issuer, keys }: Metadata, clientId: string, idToken: string, nonce: string) {
  try {
    const { payload } = await jwtVerify(idToken, keys, {
      issuer,
      audience: clientId,
      requiredClaims: ["exp", "iat", "sub"],
      clockTolerance: 30,
    });
    const claims = claimsSchema.parse(payload);
    if (claims.nonce !== nonce) throw refused("no_identity", "The identity was made for another sign-in.");
    return { subject: claims.sub, email: claims.email_verified === true ? claims.email : undefined };
  } catch (error) {
    if (error instanceof errors.JWKSTimeout) throw unavailable("its keys did not arrive in time");
    if (error instanceof errors.JOSEError || error instanceof z.ZodError) {
      throw refused("no_identity", "The provider's word of who you are does not hold.");
    }
    throw error;
  }
}

async function fetchJson(url: string, init: RequestInit): Promise<unknown> {
  try {
    const response = await fetch(url, { ...init, redirect: "error", signal: AbortSignal.timeout(timeoutMs) });
    return await response.json();
  } catch {
    throw unavailable(`${new URL(url).host} does not answer`);
  }
}

const secret = (): string => randomBytes(32).toString("base64url");

const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url");

const refused = (why: SignInRefused["why"], message: string): SignInRefused => new SignInRefused(why, message);

const unavailable = (why: string): Problem =>
  new Problem("provider_unavailable", `Signing in through the provider does not work now: ${why}. Try again.`);
