import * as z from "zod/mini";
import { suggestion } from "../nearestName.ts";
import { quoted } from "../quoted.ts";
import { roles } from "./roles.ts";

/** An element of a page, as a pipeline file says which one is meant. */

const emptyText = "this text is empty";
const filledWords = z.union([z.string().check(z.minLength(1, emptyText)), z.number(), z.boolean()], {
  error: ({ input }) => (input === "" ? emptyText : "expected text"),
});

const role = z.enum(roles, {
  error: ({ input }) => {
    if (typeof input !== "string") return "expected a role such as button, link, textbox or heading";
    const near = suggestion(input, roles);
    return `there is no role \`${quoted(input)}\`${near || "; such as there are: button, link, textbox, heading"}`;
  },
});

export const target = {
  role: z.optional(role),
  name: z.optional(filledWords),
  label: z.optional(filledWords),
  placeholder: z.optional(filledWords),
  "test-id": z.optional(filledWords),
  css: z.optional(z.string().check(z.minLength(1, emptyText))),
  text: z.optional(filledWords),
};

export const targetFileSchema = z.strictObject(target);

export type TargetFile = z.infer<typeof targetFileSchema>;
