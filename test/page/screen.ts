import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import axe from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { projectRoot } from "../../scripts/projectRoot.ts";

export interface ScreenOptions {
  readonly scheme?: "light" | "dark";
  /** `false` switches it off in the browser; `empty` leaves it on but gives the page none, so that a test can look at it. */
  readonly script?: boolean | "empty";
  readonly width?: number;
  readonly zone?: string;
}

/** A window of a real browser, with a cookie jar of its own, in which whatever the console complains of is kept. */
export class Screen implements AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors, warnings and violations of the page's policy, but not those that the test said would come. */
  readonly complaints: string[] = [];
  readonly #expected: RegExp[] = [];

  private constructor(page: Page) {
    this.page = page;
    this.context = page.context();
    const complain = (text: string) => {
      if (!this.#expected.some((pattern) => pattern.test(text))) this.complaints.push(text);
    };
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") complain(message.text());
    });
    page.on("pageerror", (error) => complain(`uncaught: ${error.message}`));
    page.on("dialog", (dialog) => {
      complain(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }

  /** The browser says in its console that a reply was an error; where that is the point, the test says so before. */
  expectStatus(status: number): void {
    this.#expected.push(new RegExp(`responded with a status of ${status}\\b`));
  }

  expectLostConnection(): void {
    this.#expected.push(/net::ERR_/);
  }

  static async open(browser: Browser, options: ScreenOptions = {}): Promise<Screen> {
    const { scheme = "light", script = true, width = 1180, zone = "UTC" } = options;
    const context = await browser.newContext({
      colorScheme: scheme,
      javaScriptEnabled: script !== false,
      viewport: { width, height: 860 },
      timezoneId: zone,
      locale: "en-GB",
      reducedMotion: "reduce",
    });
    context.setDefaultTimeout(20_000);
    if (script === "empty") {
      await context.route(/\/page\.js/, (route) =>
        route.fulfill({ contentType: "text/javascript", body: "" }),
      );
    }
    return new Screen(await context.newPage());
  }

  /** Signs in without typing a key, which costs a page, and goes to the path. */
  async signIn(url: string, key: string, path = "/app/runs"): Promise<void> {
    const headers = { origin: url, "sec-fetch-site": "same-origin" };
    // The browser has the cookie of the reply.
    const reply = await this.context.request.post(`${url}/app/sign-in`, {
      headers,
      form: { key },
      maxRedirects: 0,
    });
    assert.equal(reply.status(), 303);
    await this.page.goto(`${url}${path}`);
  }

  /** What axe finds wrong with the page as it now is, by rule and place; best practices included. */
  async barriers(): Promise<string[]> {
    // By the protocol and not by a script element, which the page's policy would rightly refuse.
    if (!(await this.page.evaluate<boolean>(`"axe" in globalThis`))) await this.page.evaluate(axe.source);
    const found = await this.page.evaluate<{ id: string; where: string[] }[]>(
      `axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => ({ id, where: nodes.map((node) => node.html + " " + node.failureSummary) })))`,
    );
    return found.flatMap(({ id, where }) => where.map((place) => `${id}: ${place}`));
  }

  /** The element that has the focus, as a person would name it. */
  async focused(): Promise<string> {
    return this.page.evaluate<string>(
      "document.activeElement.innerText || document.activeElement.id || document.activeElement.tagName",
    );
  }

  /** Whether anything is wider than the window. */
  async overflows(): Promise<boolean> {
    return this.page.evaluate<boolean>(
      "document.documentElement.scrollWidth > document.documentElement.clientWidth",
    );
  }

  /** Keeps a picture in `test-results/page/`, where whoever runs the tests wants to look at them. */
  async keepPicture(name: string): Promise<void> {
    if (process.env["PAGE_PICTURES"] !== "keep") return;
    const folder = join(projectRoot, "test-results", "page");
    await mkdir(folder, { recursive: true });
    await this.page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.context.close();
  }
}
