const timeOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const dayAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** Shows every instant in the reader's zone, without the date when it is today; in UTC when it is pointed at. */
export function showLocalTimes(page: Document, now: number): void {
  const today = new Date(now).toDateString();
  for (const element of page.querySelectorAll("time")) {
    const instant = new Date(element.dateTime);
    if (Number.isNaN(instant.getTime())) continue;
    if (element.title === "") element.title = element.textContent ?? "";
    const isToday = instant.toDateString() === today;
    element.textContent = (isToday ? timeOfDay : dayAndTime).format(instant);
  }
}
