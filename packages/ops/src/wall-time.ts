/** Whether `timeZone` is a zone whose hours this process knows, such as `Europe/Berlin` or `UTC`. */
export function isTimeZone(timeZone: string): boolean {
  // Offsets are taken by some runtimes and not by others, and have no summer time.
  if (!/^[A-Za-z]/.test(timeZone) || timeZone.length > 60) return false;
  try {
    Intl.DateTimeFormat("en", { timeZone });
    return true;
  } catch {
    return false;
  }
}

/** A moment as the clocks there show it, such as `2026-12-01 14:10 Europe/Berlin`; in UTC where the zone is not known. */
export function formatWallTime(at: Date, timeZone: string): string {
  const zone = isTimeZone(timeZone) ? timeZone : "UTC";
  const parts = new Intl.DateTimeFormat("en", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
  }).formatToParts(at);
  const of = (type: Intl.DateTimeFormatPartTypes): string => parts.find((part) => part.type === type)?.value ?? "";
  return `${of("year")}-${of("month")}-${of("day")} ${of("hour")}:${of("minute")} ${zone}`;
}
