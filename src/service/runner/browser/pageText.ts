import type { Page } from "playwright-core";
import type { Mask } from "../mask.ts";
import type { Deadline } from "./deadline.ts";

const longestExcerpt = 500;

/** What a person can read on the page, line by line, with single spaces. */
export async function textOf(page: Page, timeout: number): Promise<string> {
  // biome-ignore lint/performance/useDomNodeTextContent: what can't be seen doesn't count.
  const text = await page.locator("body").innerText({ timeout });
  return text
    .split("\n")
    .map((line) => line.replace(/\s+/g, " ").trim())
    .join("\n");
}

/** The beginning of it for a message, masked. Empty when there is none, or the page doesn't say it any more. */
export async function excerptOf(page: Page, deadline: Deadline, mask: Mask): Promise<string> {
  const short = deadline.toTellWhy();
  try {
    return shorten(mask.hide(await short.within(textOf(page, short.left))), longestExcerpt);
  } catch {
    return "";
  }
}

/** A text on one line, cut short. What may hold a secret is masked before: a cut could leave half of it. */
export function shorten(masked: string, most: number): string {
  const line = masked.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}
