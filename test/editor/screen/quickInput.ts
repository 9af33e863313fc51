import type { Locator, Page } from "playwright-core";
import { patienceMilliseconds, standsStill, textsOf, waitFor } from "./waitFor.ts";

const attemptMilliseconds = 5000;

/** The box at the top of the window: the command palette, a quick pick, or a line to type. */
export class QuickInput {
  readonly #page: Page;
  readonly #box: Locator;

  constructor(page: Page) {
    this.#page = page;
    this.#box = page.locator(".quick-input-widget:visible");
  }

  /**
   * Runs a command from the command palette, as its user does.
   * @param title the whole of it, with the category: "Pipeline Runs: Run Pipeline…".
   */
  async runCommand(title: string): Promise<void> {
    const deadline = Date.now() + patienceMilliseconds;
    for (;;) {
      await this.#openPalette(title);
      try {
        await this.#row(title).click({ timeout: attemptMilliseconds });
        return;
      } catch (error) {
        // A window that is still starting may close the palette also now.
        if (Date.now() > deadline) throw error;
      }
    }
  }

  /** The titles that the command palette offers for `text`. */
  async commandsFor(text: string): Promise<string[]> {
    await this.#openPalette(text);
    const titles = await this.rows();
    await this.dismiss();
    return titles;
  }

  /** Waits for the box, whatever asks in it, and returns its title. */
  async waitForTitle(title: string | RegExp): Promise<void> {
    const found = this.#box.locator(".quick-input-title").filter({ hasText: title });
    await waitFor(found, `an input with the title ${title}`, () => this.#reads());
  }

  /** The labels of the rows, once the list has been drawn. */
  async rows(): Promise<string[]> {
    await this.#standsStill();
    return (await this.#box.locator(".monaco-list-row .label-name").allInnerTexts()).map((text) =>
      text.trim(),
    );
  }

  /** Waits for the row with exactly this label. */
  async waitForRow(label: string): Promise<Locator> {
    const row = this.#row(label);
    await waitFor(row, `a row ${JSON.stringify(label)}`, () => this.#reads());
    return row;
  }

  /** Waits until the list has no row with exactly this label any more. */
  async waitUntilRowIsGone(label: string): Promise<void> {
    await this.#row(label).waitFor({ state: "detached" });
    await this.#standsStill();
  }

  /** Chooses the row with exactly this label. */
  async pick(label: string): Promise<void> {
    const row = await this.waitForRow(label);
    await this.#standsStill();
    await row.click();
    // A list that was drawn anew between the press and the release has picked nothing, and stays.
    await row.waitFor({ state: "hidden", timeout: attemptMilliseconds }).catch(() => row.click());
  }

  /** Replaces what stands in the input. */
  async type(text: string): Promise<void> {
    await this.#input().fill(text);
  }

  /** Whether the input hides what is typed into it. */
  async isPassword(): Promise<boolean> {
    return (await this.#input().getAttribute("type")) === "password";
  }

  /** What stands below the input: the prompt, or what is wrong with the text in it. */
  async waitForMessage(text: string | RegExp): Promise<void> {
    const found = this.#box.locator(".quick-input-message").filter({ hasText: text });
    await waitFor(found, `the message ${text}`, () => this.#reads());
  }

  async accept(): Promise<void> {
    await this.#input().press("Enter");
  }

  async dismiss(): Promise<void> {
    await this.#page.keyboard.press("Escape");
    await this.#box.waitFor({ state: "hidden" });
  }

  /** A window that is still starting may close the palette or have no commands of extensions yet: then it is opened again. */
  async #openPalette(text: string): Promise<void> {
    const deadline = Date.now() + patienceMilliseconds;
    const wanted = this.#box.locator(".monaco-list-row").filter({ hasText: text });
    // A machine that does much else at the moment takes its time: each attempt has more of it.
    for (let timeout = attemptMilliseconds; ; timeout *= 2) {
      try {
        await this.#page.keyboard.press("F1");
        await this.#input().fill(`>${text}`, { timeout });
        await wanted.first().waitFor({ timeout });
        return;
      } catch (cause) {
        if (Date.now() < deadline) {
          // The palette doesn't look again for the same text; an extension's commands may have come since.
          await this.#page.keyboard.press("Escape");
          continue;
        }
        throw new Error(`The command palette never offered ${text}; ${await this.#reads()}`, { cause });
      }
    }
  }

  /** VS Code draws a new list into the rows of the one before it: for a frame a row shows what stood there last time. */
  async #standsStill(): Promise<void> {
    await standsStill(this.#page, ".quick-input-widget");
  }

  #input(): Locator {
    return this.#box.locator(".quick-input-box input");
  }

  #row(label: string): Locator {
    const name = this.#page.locator(".label-name").getByText(label, { exact: true });
    return this.#box.locator(".monaco-list-row").filter({ has: name });
  }

  #reads(): Promise<string> {
    return textsOf(this.#box);
  }
}
