import type { Tx } from "@countersign/db/connect.ts";
import { v7 as newId } from "uuid";
import { type Actor, type Role, wayOf } from "./auth.ts";
import { likenessOf } from "./person-name.ts";
import { invalidField, Problem } from "./problem.ts";
import { appendAudit } from "./queries/audit.ts";
import { readUser } from "./queries/people.ts";
import type { User } from "./shapes/people.ts";

/** Afterwards the account exists, without a token. Refused where another has the name, or one that looks like it. */
export async function createUser(
  tx: Tx,
  actor: Actor,
  asked: {
    readonly name: string;
    readonly role: Role;
    readonly isService: boolean;
    readonly email?: string | null | undefined;
  },
): Promise<User> {
  const { name, role, isService, email = null } = asked;
  const id = newId();
  await lockPeople(tx, actor.workspaceId);
  if (email !== null) await requireOwnEmail(tx, actor, id, email, isService);
  await requireOwnName(tx, actor.workspaceId, id, name);
  await tx.unsafe(
    `insert into users (id, workspace_id, name, role, is_service, email)
     values ($1::uuid, $2::uuid, $3, $4, $5::text::boolean, $6)`,
    [id, actor.workspaceId, name, role, String(isService), email],
    { prepare: true },
  );
  await appendAudit(tx, actor, "user.created", id, { role, isService, way: wayOf(actor) });
  return await findUser(tx, actor, id);
}

export interface UserChange {
  readonly name?: string | undefined;
  readonly role?: Role | undefined;
  readonly isDisabled?: boolean | undefined;
  readonly email?: string | null | undefined;
}

/**
 * Afterwards the account is as asked, and counts as such from its next request on; what it started goes on. Refused where
 * nobody would be left to administer the workspace. The audit says what changed.
 */
export async function changeUser(tx: Tx, actor: Actor, id: string, change: UserChange): Promise<User> {
  await lockPeople(tx, actor.workspaceId);
  const before = await findUser(tx, actor, id);
  const isDisabled = before.disabledAt !== null;
  const wanted = {
    name: change.name ?? before.name,
    role: change.role ?? before.role,
    isDisabled: change.isDisabled ?? isDisabled,
    email: change.email === undefined ? before.email : change.email,
  };
  const wasAdmin = before.role === "admin" && !isDisabled && !before.isService;
  const isAdmin = wanted.role === "admin" && !wanted.isDisabled;
  if (wasAdmin && !isAdmin && !(await hasOtherAdmin(tx, actor.workspaceId, id))) {
    throw new Problem(
      "last_admin",
      `${before.name} is the last administrator of the workspace who is not disabled. Make somebody else one first.`,
    );
  }
  if (wanted.name !== before.name) await requireOwnName(tx, actor.workspaceId, id, wanted.name);
  const isAddressNew = wanted.email !== before.email;
  if (isAddressNew && wanted.email !== null) await requireOwnEmail(tx, actor, id, wanted.email, before.isService);
  // Who signed in by the old address is not who signs in by the new one.
  if (isAddressNew) await tx.unsafe("delete from identities where user_id = $1::uuid", [id], { prepare: true });
  await tx.unsafe(
    `update users set name = $2, role = $3, email = $5,
            disabled_at = case when $4::text::boolean then coalesce(disabled_at, clock_timestamp()) end
      where id = $1::uuid`,
    [id, wanted.name, wanted.role, String(wanted.isDisabled), wanted.email],
    { prepare: true },
  );
  const changes = {
    ...(wanted.name === before.name ? {} : { renamed: true }),
    ...(wanted.role === before.role ? {} : { roleBefore: before.role, role: wanted.role }),
    ...(wanted.isDisabled === isDisabled ? {} : { isDisabled: wanted.isDisabled }),
    ...(isAddressNew ? { addressChanged: true } : {}),
  };
  if (Object.keys(changes).length > 0) {
    await appendAudit(tx, actor, "user.changed", id, { ...changes, way: wayOf(actor) });
  }
  return await findUser(tx, actor, id);
}

/** The account of this id in the actor's workspace; refused with 404 where there is none. */
export async function findUser(tx: Parameters<typeof readUser>[0], actor: Actor, id: string): Promise<User> {
  const user = await readUser(tx, actor.workspaceId, id);
  if (user === undefined) {
    throw new Problem("not_found", `There is no user ${id} in this workspace. GET /v1/users lists them.`);
  }
  return user;
}

/** One change at a time: two, each of which leaves an administrator, could leave none together. */
async function lockPeople(tx: Tx, workspaceId: string): Promise<void> {
  await tx.unsafe("select from workspaces where id = $1 for no key update", [workspaceId], { prepare: true });
}

async function hasOtherAdmin(tx: Tx, workspaceId: string, id: string): Promise<boolean> {
  const others = await tx.unsafe(
    `select from users
      where workspace_id = $1::uuid and id <> $2::uuid and role = 'admin' and not is_service and disabled_at is null limit 1`,
    [workspaceId, id],
    { prepare: true },
  );
  return others.length > 0;
}

/** Who decided is told by a name: no two accounts have names that look alike. To be called under the lock on people. */
async function requireOwnName(tx: Tx, workspaceId: string, id: string, name: string): Promise<void> {
  const others = await tx.unsafe<{ name: string }[]>(
    "select name from users where workspace_id = $1::uuid and id <> $2::uuid",
    [workspaceId, id],
    { prepare: true },
  );
  const likeness = likenessOf(name);
  const taken = others.find((other) => likenessOf(other.name) === likeness);
  if (taken !== undefined) {
    throw new Problem(
      "name_taken",
      `There is a user named ${JSON.stringify(taken.name)} in this workspace. Choose a name that does not look like it.`,
    );
  }
}

/** A person's address finds the person at the first sign-in through a provider, so nobody else's account has it. */
async function requireOwnEmail(tx: Tx, actor: Actor, id: string, email: string, isService: boolean): Promise<void> {
  // Whoever has the address signs in through the provider with a session that may decide.
  if (!actor.mayDecide) {
    throw new Problem(
      "may_not_decide",
      `Who has the address may sign in as this person and decide, and this token of ${(actor.via ?? actor).name} was made without that right. Use one that has it.`,
    );
  }
  if (isService) throw invalidField("json.email", "a program signs in with its token; only people have an address");
  const found = await tx.unsafe(
    "select from users where workspace_id = $1::uuid and lower(email) = lower($2) and id <> $3::uuid",
    [actor.workspaceId, email, id],
    { prepare: true },
  );
  if (found.length > 0)
    throw new Problem("name_taken", `Another account has the address ${email}. Give it up there first.`);
}
