import type { Locator, Page } from "playwright-core";

/** How long something may take that comes at once on a machine with time: it tells a hang from a busy machine. */
export const patienceMilliseconds = 60_000;

/**
 * Waits until exactly what is looked for shows.
 * @throws an error that says what was looked for and what was there instead.
 */
export async function waitFor(
  wanted: Locator,
  whatItIs: string,
  whatIsThere: () => Promise<string>,
  milliseconds = patienceMilliseconds,
): Promise<void> {
  try {
    await wanted.first().waitFor({ state: "visible", timeout: milliseconds });
  } catch (cause) {
    throw new Error(`Waited ${milliseconds / 1000} s for ${whatItIs}; ${await whatIsThere()}`, { cause });
  }
}

/** Waits until five frames have drawn the same elements with the same text: what is drawn anew under a click loses it. */
export async function standsStill(page: Page, selector: string): Promise<void> {
  await page.evaluate(untilStill(selector));
}

/** Runs in the browser, whose globals this program doesn't have. */
const untilStill = (selector: string) => `new Promise((resolve) => {
  const drawn = () => [...document.querySelectorAll(${JSON.stringify(selector)})].flatMap((one) => [one, one.innerText]);
  let before = drawn();
  let same = 0;
  const look = () => {
    const now = drawn();
    same = now.length === before.length && now.every((one, index) => one === before[index]) ? same + 1 : 0;
    before = now;
    if (same === 5) resolve();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})`;

/** Presses a key until what it leads to shows: a busy editor may still be moving its focus, or what is looked at. */
export async function pressUntilSeen(key: string, wanted: Locator, whatItIs: string): Promise<void> {
  const deadline = Date.now() + patienceMilliseconds;
  for (let milliseconds = 2000; Date.now() < deadline; milliseconds *= 2) {
    await wanted.page().keyboard.press(key);
    const seen = wanted.first().waitFor({ state: "visible", timeout: milliseconds });
    if (await seen.then(() => true).catch(() => false)) return;
  }
  throw new Error(`Pressed ${key} for ${patienceMilliseconds / 1000} s, and ${whatItIs} never showed`);
}

/** The text of an element once it is there, as a person reads it: VS Code puts spaces of several kinds between words. */
export async function shownText(element: Locator): Promise<string> {
  return ((await element.textContent()) ?? "").replaceAll(/\s+/g, " ").trim();
}

/** The texts of all that a locator finds now, for an error's message. */
export async function textsOf(found: Locator): Promise<string> {
  const texts = (await found.allInnerTexts()).map((text) => JSON.stringify(text.trim()));
  return texts.length === 0 ? "there was none" : `there was ${texts.join(", ")}`;
}

/** The texts of lines from top to bottom, all read at one moment: the editor keeps its lines in any order. */
export async function textsFromTop(lines: Locator): Promise<string[]> {
  const drawn = await lines.evaluateAll((all) =>
    all.map((line) => ({ top: line.getBoundingClientRect().top, text: line.textContent ?? "" })),
  );
  return drawn.sort((one, other) => one.top - other.top).map(({ text }) => text.replaceAll("\u00a0", " "));
}

/** Where an element stands. The editor draws its lines anew at any time: one that goes just now is looked for again. */
export async function placeOf(
  wanted: Locator,
): Promise<NonNullable<Awaited<ReturnType<Locator["boundingBox"]>>>> {
  const deadline = Date.now() + patienceMilliseconds;
  for (;;) {
    const place = await wanted.boundingBox();
    if (place !== null) return place;
    if (Date.now() > deadline) throw new Error(`${wanted} is drawn nowhere`);
  }
}
