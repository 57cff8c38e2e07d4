/** Here, since only this folder may see the broker. */
export { chooseDataDir } from "@countersign/broker/data-dir.ts";
