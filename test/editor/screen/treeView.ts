import type { Locator, Page } from "playwright-core";
import { pointElsewhere } from "./tooltip.ts";
import { patienceMilliseconds, standsStill, textsOf, waitFor } from "./waitFor.ts";

/** A view in the side bar, by its title: its rows, their buttons, and what it says when it is empty. */
export class TreeView {
  readonly #page: Page;
  readonly pane: Locator;

  constructor(page: Page, title: string) {
    this.#page = page;
    const header = page.locator(".pane-header .title").getByText(title, { exact: true });
    this.pane = page.locator(".pane").filter({ has: header });
  }

  /** The row that reads so, from its first word on. */
  row(text: string | RegExp): Locator {
    return this.pane.locator(".monaco-list-row").filter({ hasText: text }).first();
  }

  /** Waits for a row that reads so. */
  async waitForRow(text: string | RegExp): Promise<Locator> {
    const all = this.pane.locator(".monaco-list-row");
    await waitFor(this.row(text), `a row ${text}`, () => textsOf(all));
    return this.row(text);
  }

  async waitUntilGone(text: string | RegExp): Promise<void> {
    await this.row(text).waitFor({ state: "detached" });
  }

  /** Waits until the row at this position, from 0 on, reads so. */
  async waitForRowAt(position: number, text: RegExp): Promise<void> {
    const there = this.pane.locator(`.monaco-list-row[data-index="${position}"]`);
    await waitFor(there.filter({ hasText: text }), `${text} as row ${position}`, () => textsOf(there));
  }

  /** Waits for a row for which a screen reader says so. */
  async waitForSpoken(pattern: RegExp): Promise<void> {
    const rows = this.pane.locator(".monaco-list-row");
    await waitFor(this.pane.getByRole("treeitem", { name: pattern }), `a row spoken as ${pattern}`, () =>
      rows.evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")).join(" | ")),
    );
  }

  /**
   * The row, once no tooltip lies over it and no row is drawn anew: the tooltip of a row that was clicked covers those below,
   * and the editor drops a click on what it is just drawing. The seconds that a row counts don't matter.
   */
  async #clearRow(text: string | RegExp): Promise<Locator> {
    await pointElsewhere(this.#page);
    const row = await this.waitForRow(text);
    await standsStill(this.#page, ".pane .monaco-list-row .label-name");
    return row;
  }

  /** Presses a button of the row, which shows once the mouse is over it. */
  async press(text: string | RegExp, button: string): Promise<void> {
    const row = await this.#clearRow(text);
    await row.hover();
    // A key that does the same stands behind the name.
    await row.locator(`.action-label[aria-label^="${button}"]`).click();
  }

  /** Clicks the row until what it opens shows. */
  async open(text: string | RegExp, shows: Locator): Promise<void> {
    const deadline = Date.now() + patienceMilliseconds;
    for (let timeout = 10_000; ; timeout *= 2) {
      await (await this.#clearRow(text)).click();
      try {
        await shows.first().waitFor({ timeout });
        return;
      } catch (error) {
        if (Date.now() > deadline) throw error;
      }
    }
  }

  /** Unfolds or folds what is below the row. */
  async fold(text: string | RegExp): Promise<void> {
    const isFolded = async () =>
      (await (await this.waitForRow(text)).getAttribute("aria-expanded")) !== "true";
    const before = await isFolded();
    const deadline = Date.now() + patienceMilliseconds;
    do {
      await (await this.#clearRow(text)).locator(".monaco-tl-twistie").click();
      for (let look = 0; look < 100 && (await isFolded()) === before; look++)
        await this.#page.waitForTimeout(100);
    } while ((await isFolded()) === before && Date.now() < deadline);
  }

  /** Chooses an entry of the row's context menu. */
  async choose(text: string | RegExp, entry: string): Promise<void> {
    await (await this.#clearRow(text)).click({ button: "right" });
    const found = this.#page.locator(".monaco-menu .action-item").filter({ hasText: entry }).first();
    await found.waitFor();
    const deadline = Date.now() + patienceMilliseconds;
    for (let timeout = 2000; ; timeout *= 2) {
      try {
        // A menu that has just opened takes a click for the end of the one that opened it.
        await found.click({ timeout });
        await found.waitFor({ state: "hidden", timeout });
        return;
      } catch (error) {
        if (!(await found.isVisible())) return;
        if (Date.now() > deadline) throw error;
      }
    }
  }

  /** Waits for what the empty view says. */
  async waitForWelcome(text: string | RegExp): Promise<void> {
    const welcome = this.pane.locator(".welcome-view-content");
    await waitFor(welcome.filter({ hasText: text }), `the welcome ${text}`, () => textsOf(welcome));
  }

  /** The buttons of what the empty view says. */
  async welcomeButtons(): Promise<string[]> {
    return this.pane.locator(".welcome-view-content .monaco-button").allInnerTexts();
  }
}
