import type { Locator, Page } from "playwright-core";
import { shownText, textsOf, waitFor } from "./waitFor.ts";

/** Notifications: toasts in the corner, and the notification centre that keeps those which were not answered. */
export class Notifications {
  readonly #page: Page;

  constructor(page: Page) {
    this.#page = page;
  }

  /** Waits for a toast, a progress one too, whose message matches. */
  async toast(message: string | RegExp, milliseconds?: number): Promise<Notification> {
    const all = this.#page.locator(".notifications-toasts .notification-list-item");
    const found = withMessage(all, this.#page, message);
    await waitFor(found, `a toast ${message}`, () => textsOf(all), milliseconds);
    return new Notification(found);
  }

  /** The messages of the toasts that show now. */
  async toasts(): Promise<string[]> {
    return this.#page.locator(".notifications-toasts .notification-list-item-message").allInnerTexts();
  }

  /** Opens the notification centre and waits for the one whose message matches. */
  async inCentre(message: string | RegExp): Promise<Notification> {
    const all = this.#page.locator(".notifications-center .notification-list-item");
    await this.#openCentre();
    const found = withMessage(all, this.#page, message);
    await waitFor(found, `a notification ${message} in the centre`, () => textsOf(all));
    return new Notification(found);
  }

  /** Opens the notification centre and reads the messages kept there. */
  async centre(): Promise<string[]> {
    await this.#openCentre();
    return this.#page.locator(".notifications-center .notification-list-item-message").allInnerTexts();
  }

  async #openCentre(): Promise<void> {
    const centre = this.#page.locator(".notifications-center.visible");
    if (await centre.isVisible()) return;
    await this.#page.locator('.statusbar-item[id="status.notifications"]').click();
    await centre.waitFor();
  }
}

/** One notification on the screen. */
class Notification {
  readonly #item: Locator;

  constructor(item: Locator) {
    this.#item = item.first();
  }

  async message(): Promise<string> {
    return shownText(this.#item.locator(".notification-list-item-message"));
  }

  /** The titles of its buttons, from left to right. */
  async buttons(): Promise<string[]> {
    return this.#item.locator(".notification-list-item-buttons-container .monaco-button").allInnerTexts();
  }

  async press(button: string): Promise<void> {
    await this.#item.getByRole("button", { name: button, exact: true }).click();
  }

  /** Presses a button and waits until this very notification is gone; another may say the same by then. */
  async answer(button: string): Promise<void> {
    const element = await this.#item.elementHandle();
    await this.press(button);
    await element?.waitForElementState("hidden");
  }

  async waitUntilGone(): Promise<void> {
    await this.#item.waitFor({ state: "hidden" });
  }
}

function withMessage(items: Locator, page: Page, message: string | RegExp): Locator {
  return items.filter({ has: page.locator(".notification-list-item-message").filter({ hasText: message }) });
}
