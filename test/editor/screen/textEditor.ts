import type { Locator, Page } from "playwright-core";
import { placeOf, textsOf, waitFor } from "./waitFor.ts";

/** The text editor that shows now, as its user sees it: lines, squiggles and lenses. */
export class TextEditor {
  readonly #page: Page;
  readonly #editor: Locator;

  constructor(page: Page) {
    this.#page = page;
    this.#editor = page.locator(".editor-instance .monaco-editor").first();
  }

  /** Waits for the tab of a file to be the one that shows. */
  async shows(fileName: string): Promise<void> {
    await this.#page.locator(`.tab.active[aria-label*="${fileName}"]`).waitFor();
    await this.#editor.locator(".view-line").first().waitFor();
  }

  /** The line that holds this text; the editor draws spaces that don't break. */
  line(text: string): Locator {
    const pattern = text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/ /g, "\\s");
    return this.#editor.locator(".view-line").filter({ hasText: new RegExp(pattern) });
  }

  /** Follows the link in a line. The editor draws one anew when the pointer comes to it, so that a click on the element would miss it. */
  async followLink(line: Locator): Promise<void> {
    const { x, y, width, height } = await placeOf(line.locator("span.detected-link").first());
    await this.#page.keyboard.down("ControlOrMeta");
    await this.#page.mouse.click(x + width / 2, y + height / 2);
    await this.#page.keyboard.up("ControlOrMeta");
  }

  /** The line above the text that reads as `pattern` wants. */
  async lens(pattern: RegExp): Promise<Locator> {
    const all = this.#editor.locator(".codelens-decoration a, .codelens-decoration > span");
    const found = all.filter({ hasText: pattern });
    await waitFor(found, `a lens ${pattern}`, () => textsOf(all));
    return found.first();
  }

  /** Underlined places: of errors. */
  get squiggles(): Locator {
    return this.#editor.locator(".squiggly-error");
  }
}
