import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import { launchBrowser } from "../editor/served/launchBrowser.ts";
import { Screen, type ScreenOptions } from "./screen.ts";

/**
 * Gives the tests of the present `describe` a real browser. After each test none of its screens may have complained: no
 * error in the console, no violation of the page's policy. A test disposes its screens itself, before its service goes.
 */
export function inBrowser(): (options?: ScreenOptions) => Promise<Screen> {
  let browser: Browser | undefined;
  const screens: Screen[] = [];

  before(async function () {
    this.timeout(180_000);
    browser = await launchBrowser(AbortSignal.timeout(170_000));
  });
  afterEach(async () => {
    const used = screens.splice(0);
    assert.deepEqual(
      used.flatMap(({ complaints }) => complaints),
      [],
    );
  });
  after(() => browser?.close());

  return async (options = {}) => {
    if (browser === undefined) throw new Error("the browser is not there yet");
    const screen = await Screen.open(browser, options);
    screens.push(screen);
    return screen;
  };
}
