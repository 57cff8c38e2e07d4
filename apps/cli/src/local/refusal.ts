/** Here, since only this folder may see the database's room. */
export { Refusal } from "@countersign/db/refusal.ts";
