import type { Locator } from "playwright-core";
import type { Mask } from "../mask.ts";
import { type Deadline, isTimeout } from "./deadline.ts";
import { shorten } from "./shorten.ts";

const longestWords = 300;

/** One sentence on why an element that is there couldn't be used. */
export async function describeActionProblem(
  error: unknown,
  element: Locator,
  deadline: Deadline,
  mask: Mask,
): Promise<string> {
  const message = error instanceof Error ? error.message : String(error);
  const until = deadline.describe();
  const end = deadline.describeEnd();
  if (/Unknown key: "(.*)"/.test(message))
    return `there is no key \`${/Unknown key: "(.*)"/.exec(message)?.[1]}\``;
  if (/Element is not a <select>/i.test(message)) return "it is no list to select from";
  if (/Not a checkbox or radio button/i.test(message)) return "it is no checkbox, radio button or switch";
  if (/Cannot uncheck radio button/i.test(message))
    return "a radio button can't be unchecked; check another one";
  if (/did not change its state/i.test(message)) return "the page didn't let its state change";
  if (/Element is not an <input>|of type .* cannot be filled|Cannot type text into/i.test(message)) {
    return "it is no field that takes such a text";
  }
  if (/did not find some options/.test(message)) {
    return `it had no such option ${until}${await optionsOf(element, deadline, mask)}`;
  }
  const cover = [...message.matchAll(/- (<.*>)(?: from .* subtree)? intercepts pointer events/g)].at(-1)?.[1];
  if (cover !== undefined) return `it was still covered by ${shorten(mask.hide(cover), longestWords)} ${end}`;
  const state = [...message.matchAll(/element is not (enabled|stable|editable|visible)/g)].at(-1)?.[1];
  if (state !== undefined) return `it was still ${stateOf(state)} ${end}`;
  if (/element is outside of the viewport/.test(message))
    return `it was still outside of what can be scrolled to ${end}`;
  if (/element was detached/.test(message)) return `it went away and didn't come back ${until}`;
  if (isTimeout(error)) {
    const responds = await isResponding(element, deadline);
    return responds ? `there was no time left for it ${until}` : `the page didn't respond ${until}`;
  }
  const [first = ""] = message.split("\n");
  return shorten(mask.hide(first.replace(/^locator\.\w+: (?:Error: )?/, "")), longestWords);
}

async function isResponding(element: Locator, deadline: Deadline): Promise<boolean> {
  try {
    await deadline.toTellWhy().within(element.count());
    return true;
  } catch {
    return false;
  }
}

function stateOf(word: string): string {
  switch (word) {
    case "enabled":
      return "disabled";
    case "stable":
      return "moving";
    case "editable":
      return "read-only";
    default:
      return "hidden";
  }
}

async function optionsOf(element: Locator, deadline: Deadline, mask: Mask): Promise<string> {
  try {
    const options = await deadline.toTellWhy().within(element.locator("option").allInnerTexts());
    const names = options.map((option) => `\`${shorten(mask.hide(option), 60)}\``).join(", ");
    return options.length === 0 ? "; it has none" : `; the options are: ${shorten(names, longestWords)}`;
  } catch {
    return "";
  }
}
