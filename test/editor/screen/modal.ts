import type { Page } from "playwright-core";
import { shownText } from "./shownText.ts";
import { textsOf, waitFor } from "./waitFor.ts";

/** The modal question in the middle of the window. */
export class Modal {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Waits for the question whose message matches. */
  async waitFor(message: string | RegExp): Promise<void> {
    const text = this.#box().locator(".dialog-message-text").filter({ hasText: message });
    await waitFor(text, `a modal ${message}`, () => textsOf(this.#box()));
  }

  async detail(): Promise<string> {
    return shownText(this.#box().locator(".dialog-message-detail"));
  }

  async buttons(): Promise<string[]> {
    return this.#box().locator(".dialog-buttons .monaco-button").allInnerTexts();
  }

  async press(button: string): Promise<void> {
    await this.#box().getByRole("button", { name: button, exact: true }).click();
    await this.#box().waitFor({ state: "hidden" });
  }

  #box() {
    return this.#page.locator(".monaco-dialog-box");
  }
}
