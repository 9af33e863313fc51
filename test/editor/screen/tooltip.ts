import type { Locator, Page } from "playwright-core";
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
      await pointElsewhere(page);
    }
  }
}

/** Points where nothing has a tooltip, and waits until none is left. */
export async function pointElsewhere(page: Page): Promise<void> {
  const tooltip = page.locator(".monaco-hover:visible");
  const deadline = Date.now() + patienceMilliseconds;
  for (;;) {
    await page.mouse.move(600, 300);
    try {
      await tooltip.waitFor({ state: "hidden", timeout: 5000 });
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      // The tooltip of what was drawn anew doesn't notice that the mouse left: the mouse has to go over it.
      const box = await tooltip.first().boundingBox();
      if (box) await page.mouse.move(box.x + 5, box.y + 5);
    }
  }
}
