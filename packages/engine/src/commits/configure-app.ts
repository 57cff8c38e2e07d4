import type { Tx } from "@countersign/db/connect.ts";

/**
 * Afterwards the app's row of policy keeps which configuration file its layer is from, and what that file softens of the
 * denylist; the last part of the transaction that has set the layer's rules and dial.
 */
export async function configureApp(
  tx: Tx,
  { hash, softened }: { readonly hash: string; readonly softened: readonly string[] | undefined },
): Promise<void> {
  await tx.unsafe("select configure_app($1::text, $2::text[])", [hash, softened?.slice() ?? null], { prepare: true });
}
