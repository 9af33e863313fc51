import type { Locator, Page } from "playwright-core";
import { textsOf, waitFor } from "./waitFor.ts";

/** The panel's terminal that shows, as its user sees it and types into it. */
export class TerminalPanel {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Waits until the terminal holds a text that matches; its lines are joined by spaces. */
  async waitForText(pattern: RegExp, milliseconds?: number): Promise<void> {
    const wanted = this.#rows().filter({ hasText: pattern });
    await waitFor(wanted, `the terminal to show ${pattern}`, () => textsOf(this.#rows()), milliseconds);
  }

  /** The lines that show now, without those that are empty. */
  async lines(): Promise<string[]> {
    const lines = await this.#rows().locator("> div").allInnerTexts();
    return lines.map((line) => line.replaceAll("\u00a0", " ").trimEnd()).filter((line) => line !== "");
  }

  /** Presses a key in the terminal. */
  async press(key: string): Promise<void> {
    await this.#terminal().locator(".xterm-helper-textarea").focus();
    await this.#page.keyboard.press(key);
  }

  #terminal(): Locator {
    return this.#page.locator(".integrated-terminal .terminal-wrapper:visible").last();
  }

  #rows(): Locator {
    return this.#terminal().locator(".xterm-rows");
  }
}
