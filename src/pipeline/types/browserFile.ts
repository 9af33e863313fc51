import * as z from "zod/mini";
import {
  duration,
  everyStep,
  expectedWords,
  idPattern,
  nonEmpty,
  statusFileSchema,
  that,
  words,
} from "../file/values.ts";
import { quoted, suggestion } from "../mistakes/problem.ts";
import { roles } from "./browserStep.ts";
import { deviceNames } from "./deviceNames.ts";

/** The browser resource, its steps and their elements as a pipeline file writes them. */

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

const frame = z.strictObject({
  title: z.optional(filledWords),
  name: z.optional(filledWords),
  "test-id": z.optional(filledWords),
  css: z.optional(nonEmpty),
});

const target = {
  role: z.optional(role),
  name: z.optional(filledWords),
  label: z.optional(filledWords),
  placeholder: z.optional(filledWords),
  "test-id": z.optional(filledWords),
  css: z.optional(z.string().check(z.minLength(1, emptyText))),
  text: z.optional(filledWords),
  frame: z.optional(frame),
};

const targetFileSchema = z.strictObject(target);

export type TargetFile = z.infer<typeof targetFileSchema>;

const fileName = z
  .string()
  .check(
    z.regex(
      /^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$/,
      "expected a file's name, of letters, digits, spaces, `.`, `_` and `-`",
    ),
  );

const device = z.enum(deviceNames, {
  error: ({ input }) => {
    if (typeof input !== "string") return "expected a device's name, such as iPhone 15";
    const near = suggestion(input, deviceNames);
    return `there is no device \`${quoted(input)}\`${near || "; such as there are: iPhone 15, Pixel 8, iPad Mini landscape"}`;
  },
});

const aSize = "expected a number of pixels from 100 to 4096";
const pixels = z.int(aSize).check(z.minimum(100, aSize), z.maximum(4096, aSize));

export const browserResourceSchema = z.strictObject({
  type: z.literal("browser"),
  executable: z.optional(nonEmpty),
  "base-url": z.optional(nonEmpty),
  device: z.optional(device),
  viewport: z.optional(z.strictObject({ width: pixels, height: pixels })),
  storage: z.optional(nonEmpty),
  trace: z.optional(z.literal("on-failure", "expected `on-failure`; without it, no trace is kept")),
  timeout: z.optional(duration),
});

export const seenElementsFileSchema = z.strictObject({
  ...target,
  count: z.optional(z.int().check(z.nonnegative("a count is 0 or more"))),
});

const evaluateFileSchema = z.strictObject({
  script: nonEmpty,
  with: z.optional(
    z.record(
      z.string().check(z.regex(/^[A-Za-z_$][\w$]*$/, "this can't name a variable of a script")),
      z.unknown(),
    ),
  ),
});

/** What is read of a page: an element, or the value of a script. */
export const readFileSchema = z.strictObject({
  ...target,
  evaluate: z.optional(z.union([nonEmpty, evaluateFileSchema], "expected a script")),
});

const readName = z
  .string()
  .check(
    z.regex(
      idPattern,
      "such a name begins with a letter or `_` and goes on with letters, digits, `_` and `-`",
    ),
  );

export const actionFileSchemas = {
  click: targetFileSchema,
  fill: z.strictObject({ ...target, with: words }),
  press: z.strictObject({ ...target, key: nonEmpty }),
  select: z.strictObject({ ...target, option: words }),
  check: targetFileSchema,
  uncheck: targetFileSchema,
  "wait-for": seenElementsFileSchema,
  evaluate: evaluateFileSchema,
  upload: z.strictObject({
    ...target,
    file: z.union(
      [nonEmpty, z.array(nonEmpty).check(z.minLength(1))],
      "expected a file's path, or a list of them",
    ),
  }),
  download: z.strictObject({ ...target, as: z.optional(fileName) }),
  dialog: z.strictObject({ text: words }),
  tab: z.strictObject({ title: z.optional(filledWords), url: z.optional(filledWords) }),
} as const;

export type ActionName = keyof typeof actionFileSchemas;
export const actionNames = Object.keys(actionFileSchemas).filter(isActionName);

export function isActionName(name: string): name is ActionName {
  return Object.hasOwn(actionFileSchemas, name);
}

export const dialogAnswers = ["accept", "dismiss"] as const;

const screenshot = z
  .string()
  .check(
    z.regex(
      /^[A-Za-z0-9][A-Za-z0-9 ._-]{0,95}\.png$/,
      "expected a file's name that ends in .png, of letters, digits, spaces, `.`, `_` and `-`",
    ),
  );

const expected = {
  status: z.optional(statusFileSchema()),
  url: z.optional(words),
  title: z.optional(words),
  text: z.optional(expectedWords),
  that,
};

const step = {
  ...everyStep,
  goto: z.optional(nonEmpty),
  timeout: z.optional(duration),
  screenshot: z.optional(screenshot),
  storage: z.optional(nonEmpty),
};

/** The step's outermost level. Actions and elements are checked one by one, so that problems name them. */
export const browserStepOutlineSchema = z.strictObject({
  ...step,
  actions: z.optional(z.array(z.unknown()).check(z.minLength(1))),
  expect: z.optional(
    z.strictObject({ ...expected, elements: z.optional(z.array(z.unknown()).check(z.minLength(1))) }),
  ),
  read: z.optional(z.record(readName, z.unknown())),
});

/** What some of them can be instead of a map. */
const shortActions: { readonly [Name in ActionName]?: z.ZodMiniType } = {
  press: nonEmpty,
  evaluate: nonEmpty,
  dialog: z.enum(dialogAnswers),
};

const actionSchema = z.union(
  actionNames.map((name) => {
    const short = shortActions[name];
    const schema = actionFileSchemas[name];
    return z.strictObject({ [name]: short === undefined ? schema : z.union([short, schema]) });
  }),
);

/** The whole step, for the JSON Schema. */
export const browserStepFileSchema = z.strictObject({
  ...step,
  actions: z.optional(z.array(actionSchema).check(z.minLength(1))),
  expect: z.optional(
    z.strictObject({
      ...expected,
      elements: z.optional(z.array(seenElementsFileSchema).check(z.minLength(1))),
    }),
  ),
  read: z.optional(z.record(readName, readFileSchema)),
});

export type BrowserResourceFile = z.infer<typeof browserResourceSchema>;
export type BrowserStepFile = z.infer<typeof browserStepOutlineSchema>;
