/**
 * Defines a test where its system has what it checks. Elsewhere the test is not there: it must not count as passed where
 * nothing was looked at.
 */
export function itOn(system: "linux" | "posix", title: string, body: () => Promise<void>): void {
  const there = system === "linux" ? process.platform === "linux" : process.platform !== "win32";
  if (there) it(title, body);
}
