import type { Locator, Page } from "playwright-core";
import { pointAt, pointElsewhere } from "./tooltip.ts";
import { patienceMilliseconds, shownText, textsOf, waitFor } from "./waitFor.ts";

/** Our item with the day's runs. */
export const quota = "pipeline-runs.pipeline-runs.quota";

/** The status bar; an item is named `<publisher>.<extension>.<item>`. */
export class StatusBar {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  item(id: string): Locator {
    return this.#page.locator(`.statusbar-item[id="${id}"]`);
  }

  /** What the item reads now, once it shows; an icon reads as nothing. */
  async text(id: string): Promise<string> {
    return shownText(this.item(id));
  }

  /** What a screen reader says for the item; its tooltip is in it. */
  async label(id: string): Promise<string> {
    return (await this.item(id).getAttribute("aria-label")) ?? "";
  }

  /** Waits until the item reads as `pattern` wants, and returns what it reads. */
  async waitForText(id: string, pattern: RegExp): Promise<string> {
    const deadline = Date.now() + patienceMilliseconds;
    for (;;) {
      const text = await this.text(id);
      if (pattern.test(text)) return text;
      if (Date.now() > deadline) {
        throw new Error(
          `Waited ${patienceMilliseconds / 1000} s for the status item ${id} to read ${pattern}; it reads ${text}`,
        );
      }
      await this.#page.waitForTimeout(50);
    }
  }

  /** How many of today's runs our item says are used, once it says nothing else. */
  async used(): Promise<number> {
    return Number.parseInt(await this.waitForText(quota, /^\d+ of 50 runs used today$/), 10);
  }

  /** Waits until our item says that so many of today's runs are used, and nothing else. */
  async waitForUsed(count: number): Promise<void> {
    await this.waitForText(quota, new RegExp(`^${count} of 50 runs used today$`));
  }

  /** Points at the item until its tooltip says `text`, and returns the tooltip. */
  async pointAt(id: string, text: string): Promise<Locator> {
    return pointAt(this.item(id), text);
  }

  /** Presses a link of the item's tooltip, which goes where the item is drawn anew. */
  async pressInTooltip(id: string, link: string): Promise<void> {
    const deadline = Date.now() + patienceMilliseconds;
    for (;;) {
      const tooltip = await this.pointAt(id, link);
      try {
        await tooltip.getByRole("link", { name: link }).click({ timeout: 5000 });
        return;
      } catch (error) {
        if (Date.now() > deadline) throw error;
        await pointElsewhere(this.#page);
      }
    }
  }

  /** Waits for a message that stands in the status bar for some seconds only. */
  async waitForMessage(pattern: RegExp): Promise<void> {
    const items = this.#page.locator(".statusbar-item");
    await waitFor(items.filter({ hasText: pattern }), `a status message ${pattern}`, () => textsOf(items));
  }

  async waitUntilGone(id: string): Promise<void> {
    await this.item(id).waitFor({ state: "hidden" });
  }

  async click(id: string): Promise<void> {
    await this.item(id).click();
  }
}
