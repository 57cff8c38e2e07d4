import { startEmbedded } from "../embedded.ts";

/** A program that starts the embedded server in the folder it is given, says how, and stays until it is ended. */
const dataDir = process.argv[2];
if (dataDir === undefined) throw new Error("Usage: hold-embedded.ts <data folder>");
const { url, reused } = await startEmbedded({ dataDir });
console.log(JSON.stringify({ url, reused }));
setInterval(() => {}, 60_000);
