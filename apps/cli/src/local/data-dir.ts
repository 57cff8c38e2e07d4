/** Here, since only this folder may see the broker. */
export { chooseDataDir, makeDataDir } from "@countersign/broker/data-dir.ts";
