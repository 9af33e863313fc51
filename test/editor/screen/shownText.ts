import type { Locator } from "playwright-core";

/** The text of an element once it is there, as a person reads it: VS Code puts spaces of several kinds between words. */
export async function shownText(element: Locator): Promise<string> {
  return ((await element.textContent()) ?? "").replaceAll(/\s+/g, " ").trim();
}
