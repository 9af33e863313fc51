import type { Locator } from "playwright-core";
import { patienceMilliseconds, textsOf, waitFor } from "./waitFor.ts";

/** Points at what is there until its tooltip says `text`, and returns the tooltip. */
export async function pointAt(item: Locator, text: string | RegExp): Promise<Locator> {
  const page = item.page();
  const tooltips = page.locator(".monaco-hover");
  const tooltip = tooltips.filter({ hasText: text });
  const deadline = Date.now() + patienceMilliseconds;
  for (;;) {
    await item.hover();
    try {
      // What is drawn anew under the mouse shows nothing until the mouse comes back.
      await waitFor(tooltip, `a tooltip with ${text}`, () => textsOf(tooltips), 5000);
      return tooltip;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await page.mouse.move(600, 300);
      await page.locator(".monaco-hover:visible").waitFor({ state: "hidden" });
    }
  }
}
