import * as z from "zod/mini";
import type { DeepReadonly } from "../deepReadonly.ts";
import { describeExpectation, textExpectationSchema } from "../textExpectation.ts";
import { roles } from "./roles.ts";

const text = z.optional(textExpectationSchema);

/** Which element of a page is meant. `text` beside another way narrows it to the elements that hold the text. */
export const targetSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("role"), role: z.enum(roles), name: z.optional(textExpectationSchema), text }),
  z.object({ kind: z.literal("label"), label: textExpectationSchema }),
  z.object({ kind: z.literal("placeholder"), placeholder: textExpectationSchema }),
  z.object({ kind: z.literal("test-id"), testId: z.string(), text }),
  z.object({ kind: z.literal("css"), selector: z.string(), text }),
  /** The innermost element that holds it. */
  z.object({ kind: z.literal("text"), text: textExpectationSchema }),
]);

export type Target = DeepReadonly<z.infer<typeof targetSchema>>;

/** The element for a message: "the button `Go`". */
export function describeTarget(target: Target): string {
  switch (target.kind) {
    case "role": {
      const name = target.name === undefined ? "" : ` ${describeExpectation(target.name)}`;
      return `the ${target.role}${name}${holding(target.text)}`;
    }
    case "label":
      return `the field labelled ${describeExpectation(target.label)}`;
    case "placeholder":
      return `the field with the placeholder ${describeExpectation(target.placeholder)}`;
    case "test-id":
      return `the element with the test id \`${target.testId}\`${holding(target.text)}`;
    case "css":
      return `the element \`${target.selector}\`${holding(target.text)}`;
    case "text":
      return `the text ${describeExpectation(target.text)}`;
    default:
      return target satisfies never;
  }
}

function holding(text: z.infer<typeof textExpectationSchema> | undefined): string {
  return text === undefined ? "" : ` that holds ${describeExpectation(text)}`;
}
