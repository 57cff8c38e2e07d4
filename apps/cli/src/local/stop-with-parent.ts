/**
 * Loaded before a program that `dev` starts: its standard input closes when the parent is gone, in whatever way, and then
 * the program stops as it would for a supervisor.
 */
process.stdin.once("close", () => process.kill(process.pid, "SIGTERM"));
process.stdin.resume();
if ("unref" in process.stdin && typeof process.stdin.unref === "function") process.stdin.unref();
