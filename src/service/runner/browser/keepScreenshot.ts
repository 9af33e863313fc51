import type { Page } from "playwright-core";
import type { StepSurroundings } from "../stepOutcome.ts";
import type { Deadline } from "./deadline.ts";

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
  let picture: Uint8Array;
  try {
    picture = await deadline.within(page.screenshot({ type: "png", timeout: deadline.left }), 500);
  } catch {
    return `the page couldn't be pictured for \`${name}\``;
  }
  await keep({ name, mediaType: "image/png", content: picture });
  log.note(`screenshot ${name}`);
  return undefined;
}
