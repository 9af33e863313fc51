import assert from "node:assert/strict";
import { launchBrowser } from "../editor/served/launchBrowser.ts";
import { forSuite } from "../forSuite.ts";
import { Screen, type ScreenOptions } from "./screen.ts";

/**
 * Gives the tests of the present `describe` a real browser. After each test none of its screens may have complained: no
 * error in the console, no violation of the page's policy. A test disposes its screens itself, before its service goes.
 */
export function inBrowser(): (options?: ScreenOptions) => Promise<Screen> {
  const browser = forSuite(launchBrowser);
  const screens: Screen[] = [];

  afterEach(async () => {
    const used = screens.splice(0);
    assert.deepEqual(
      used.flatMap(({ complaints }) => complaints),
      [],
    );
  });

  return async (options = {}) => {
    const screen = await Screen.open(browser(), options);
    screens.push(screen);
    return screen;
  };
}
