import * as z from "zod/mini";
import type { DeepReadonly } from "../deepReadonly.ts";
import { describeTarget, targetSchema } from "./target.ts";

/** Elements that have to be seen: so many of them, or at least one when there is no count. */
export const seenElementsSchema = z.object({ target: targetSchema, count: z.optional(z.int()) });

export const actionSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("click"), target: targetSchema }),
  z.object({ kind: z.literal("fill"), target: targetSchema, with: z.string() }),
  /** Without a target, the key goes to whatever has the focus. */
  z.object({ kind: z.literal("press"), key: z.string(), target: z.optional(targetSchema) }),
  z.object({ kind: z.literal("select"), target: targetSchema, option: z.string() }),
  z.object({ kind: z.literal("check"), target: targetSchema }),
  z.object({ kind: z.literal("uncheck"), target: targetSchema }),
  z.object({ kind: z.literal("wait-for"), ...seenElementsSchema.shape }),
]);

export type SeenElements = DeepReadonly<z.infer<typeof seenElementsSchema>>;
export type Action = DeepReadonly<z.infer<typeof actionSchema>>;

/** The action as one reads it in a log: "click the button `Go`". What a field is filled with is left out. */
export function describeAction(action: Action): string {
  switch (action.kind) {
    case "click":
    case "fill":
    case "check":
    case "uncheck":
      return `${action.kind} ${describeTarget(action.target)}`;
    case "press":
      return action.target === undefined
        ? `press ${action.key}`
        : `press ${action.key} in ${describeTarget(action.target)}`;
    case "select":
      return `select \`${action.option}\` in ${describeTarget(action.target)}`;
    case "wait-for":
      return `wait for ${describeSeen(action)}`;
    default:
      return action satisfies never;
  }
}

export function describeSeen({ target, count }: SeenElements): string {
  const what = describeTarget(target);
  if (count === undefined) return what;
  return count === 0 ? `${what} to be gone` : `${what}, ${count} times`;
}
