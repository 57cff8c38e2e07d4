/** The processor time of this thread that `act` took, in milliseconds: other work on the machine does not count. */
export function processorTimeOf(act: () => unknown): number {
  const before = process.threadCpuUsage();
  act();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
