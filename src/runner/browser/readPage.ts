import { type Json, parseJson } from "../../pipeline/expression/value.ts";
import {
  type BrowserStep,
  describeTarget,
  functionOf,
  type Script,
} from "../../pipeline/types/browserStep.ts";
import type { Mask } from "../mask/mask.ts";
import { asJson } from "../step/jsonMismatches.ts";
import { largestResult, tooLarge } from "../step/stepResult.ts";
import { DeadlineExceeded, isNavigating, poll, type StepDeadline } from "./deadline.ts";
import { findElement } from "./findElement.ts";
import type { OpenBrowser } from "./openBrowser.ts";
import { asRead, longestWords, saidOf, shorten } from "./pageContent.ts";

type ReadValue =
  | { readonly kind: "read"; readonly value: Json | undefined }
  | { readonly kind: "problem"; readonly problem: string };

/** Reads an element or evaluates a script for a step's `read`. */
export async function readFromPage(
  { name, target, evaluate }: NonNullable<BrowserStep["read"]>[number],
  browser: OpenBrowser,
  deadline: StepDeadline,
  mask: Mask,
): Promise<ReadValue> {
  const problem = (what: string): ReadValue => ({ kind: "problem", problem: `read \`${name}\`: ${what}` });
  if (evaluate !== undefined) {
    const read = await evaluateScript(evaluate, browser, deadline, mask);
    return read.kind === "problem" ? problem(read.problem) : read;
  }
  if (target === undefined) return problem("it names nothing");
  const found = await findElement(browser, target, deadline, mask);
  if (found.kind === "problem") return problem(`${describeTarget(target)}: ${found.problem}`);
  const read = await poll(deadline, async ({ left }) => {
    const value: unknown = await found.element.evaluate(
      // Runs in the page, where nothing else of this program is.
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
  if (read === undefined) return problem(`the page didn't respond ${deadline.describe()}`);
  return String(read.value).length > largestResult ? problem(tooLarge) : { kind: "read", value: read.value };
}

/** Evaluates a script in the page. Its value is undefined for one that has none, or that JSON can't say. */
export async function evaluateScript(
  { script, variables }: Script,
  { page }: OpenBrowser,
  deadline: StepDeadline,
  mask: Mask,
): Promise<ReadValue> {
  const problem = (what: string): ReadValue => ({ kind: "problem", problem: what });
  if (page === undefined) return problem("the page was closed");
  const made = functionOf(script, Object.keys(variables));
  if (made.kind === "invalid")
    return problem(`this is no JavaScript: ${shorten(mask.hide(made.problem), longestWords)}`);
  // As a text in the source a value can't become a part of the script.
  const values = JSON.stringify(asJson(variables));
  const source = `${made.source}(JSON.parse(${values})).then((value) => {
    const text = JSON.stringify(value);
    if (text?.length > ${largestResult}) throw new Error("its value can't be read: ${tooLarge}");
    return text;
  })`;
  try {
    const text: unknown = await deadline.within(page.evaluate(source));
    return { kind: "read", value: typeof text === "string" ? parseJson(text)?.value : undefined };
  } catch (error) {
    if (error instanceof DeadlineExceeded) return problem(`it wasn't over ${deadline.describe()}`);
    // It has led to another page, as clicking does.
    if (isNavigating(error)) return { kind: "read", value: undefined };
    return problem(saidOf(error, mask));
  }
}
