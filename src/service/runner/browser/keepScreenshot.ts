import { setTimeout as pause } from "node:timers/promises";
import type { Page } from "playwright-core";
import type { StepSurroundings } from "../stepOutcome.ts";
import { type Deadline, isTimeout } from "./deadline.ts";

const againMilliseconds = 50;

/**
 * Keeps a picture of what a person would see now.
 *
 * @returns why there is none; undefined when it is kept.
 */
export async function keepScreenshot(
  name: string,
  page: Page,
  deadline: Deadline,
  { keep, log }: StepSurroundings,
): Promise<string | undefined> {
  const picture = await takePicture(page, deadline);
  if (picture === undefined) return `the page couldn't be pictured for \`${name}\``;
  await keep({ name, mediaType: "image/png", content: picture });
  log.note(`screenshot ${name}`);
  return undefined;
}

/** While one page takes another's place, the browser has nothing to show and says so at once: then it is asked again. */
async function takePicture(page: Page, deadline: Deadline): Promise<Uint8Array | undefined> {
  for (;;) {
    try {
      return await deadline.within(page.screenshot({ type: "png", timeout: deadline.left }), 500);
    } catch (error) {
      if (isTimeout(error) || deadline.isOver || page.isClosed()) return undefined;
      await pause(againMilliseconds);
    }
  }
}
