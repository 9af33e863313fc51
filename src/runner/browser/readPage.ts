import { ExpressionFault, type Json, parseJson, writeJson } from "../../pipeline/expression/value.ts";
import {
  type BrowserStep,
  describeTarget,
  type ElementTarget,
  functionOf,
  type Script,
} from "../../pipeline/types/browserStep.ts";
import { shorten } from "../output/readableText.ts";
import { about, largestResult, StepFault, tooLarge } from "../step/stepContext.ts";
import { DeadlineExceeded, isNavigating, poll } from "./deadline.ts";
import { findElement } from "./findElement.ts";
import type { BrowserUse } from "./openBrowser.ts";
import { asRead, longestWords, saidOf } from "./pageContent.ts";

type Named = NonNullable<BrowserStep["read"]>[number];

/** Reads an element or evaluates a script for a step's `read`. @throws StepFault when that can't be done. */
export function readFromPage(named: Named, use: BrowserUse): Promise<void> {
  return about(`read \`${named.name}\``, takeValue(named, use));
}

async function takeValue({ name, target, evaluate }: Named, use: BrowserUse): Promise<void> {
  const value = await (evaluate === undefined ? readElement(target, use) : evaluateScript(evaluate, use));
  if (value === undefined) return;
  use.found.size += sizeOf(value);
  use.found.values[name] = value;
}

function sizeOf(value: Json): number {
  try {
    return writeJson(value).length;
  } catch (error) {
    throw error instanceof ExpressionFault
      ? new StepFault(`its value can't be read: ${error.message}`)
      : error;
  }
}

async function readElement(target: ElementTarget | undefined, use: BrowserUse): Promise<Json> {
  const { deadline } = use;
  if (target === undefined) throw new StepFault("it names nothing");
  const found = await about(describeTarget(target), findElement(target, use));
  const read = await poll(deadline, async ({ left }) => {
    const value: unknown = await found.evaluate(
      // Runs in the page, so nothing else of this program is available.
      (element) =>
        element.matches("input[type=checkbox], input[type=radio]")
          ? element.checked
          : element.matches("input, textarea, select")
            ? element.value
            : // biome-ignore lint/performance/useDomNodeTextContent: hidden text doesn't count.
              (element.innerText ?? element.textContent),
      undefined,
      { timeout: left },
    );
    return { value: typeof value === "boolean" ? value : asRead(String(value)) };
  });
  if (read === undefined) throw new StepFault(`the page didn't respond ${deadline.describe()}`);
  if (String(read.value).length > largestResult) throw new StepFault(tooLarge);
  return read.value;
}

/**
 * Evaluates a script in the page.
 * @returns undefined where it has no value, or one that JSON can't express.
 * @throws StepFault when it fails.
 */
export async function evaluateScript(
  { script, variables }: Script,
  { browser: { page }, deadline, mask }: BrowserUse,
): Promise<Json | undefined> {
  if (page === undefined) throw new StepFault("the page was closed");
  const made = functionOf(script, Object.keys(variables));
  if (made.kind === "invalid")
    throw new StepFault(`this is no JavaScript: ${shorten(mask.hide(made.problem), longestWords)}`);
  // As a JSON text in the source, a value can't become part of the script.
  const values = JSON.stringify(writeJson(variables));
  const source = `${made.source}(JSON.parse(${values})).then((value) => {
    const text = JSON.stringify(value);
    if (text?.length > ${largestResult}) throw new Error("its value can't be read: ${tooLarge}");
    return text;
  })`;
  try {
    const text: unknown = await deadline.within(page.evaluate(source));
    return typeof text === "string" ? parseJson(text)?.value : undefined;
  } catch (error) {
    if (error instanceof DeadlineExceeded) throw new StepFault(`it wasn't over ${deadline.describe()}`);
    // The script has led to another page, as a click does.
    if (isNavigating(error)) return undefined;
    throw new StepFault(saidOf(error, mask));
  }
}
