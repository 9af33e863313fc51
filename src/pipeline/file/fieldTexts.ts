import * as z from "zod/mini";

/** The documentation of a field of the pipeline file, in Markdown, for editors and the JSON Schema. */
export interface FieldText {
  readonly meaning: string;
  /** The default: as it is written in the file, or in words. */
  readonly byDefault?: string;
  /** The allowed values, in words. */
  readonly bounds?: string;
  /** Values for completion, as they are written in the file. */
  readonly values?: readonly string[];
}

const texts = new WeakMap<z.core.$ZodType, FieldText>();

/** The documentation of a schema's field. */
export function textOf(schema: z.core.$ZodType): FieldText | undefined {
  return texts.get(schema);
}

/** A field that may be left out. */
export function field<T extends z.ZodMiniType>(schema: T, text: FieldText): z.ZodMiniOptional<T> {
  const own = z.optional(schema);
  texts.set(own, text);
  return own;
}

/** A field that may be left out, and has no default then. */
export function noneByDefault<T extends z.ZodMiniType>(schema: T, meaning: string): z.ZodMiniOptional<T> {
  return field(schema, { meaning, byDefault: "none" });
}

export function needed<T extends z.ZodMiniType>(schema: T, text: FieldText): T {
  // Other fields may have the same schema, with texts of their own.
  const own = schema.clone(schema.def);
  texts.set(own, text);
  return own;
}

/** The schemas directly inside one: those of a map's fields with their names, those of items and of arbitrary names without. */
function partsOf(schema: z.core.$ZodType): readonly (readonly [string | undefined, z.core.$ZodType])[] {
  const def = definition(schema);
  switch (def.type) {
    case "optional":
    case "nullable":
      return partsOf(def.innerType);
    case "object":
      return Object.entries(def.shape);
    case "record":
      return [[undefined, def.valueType]];
    case "array":
      return [[undefined, def.element]];
    case "union":
      return def.options.flatMap(partsOf);
    default:
      return [];
  }
}

export function fieldNames(schema: z.core.$ZodType): readonly string[] {
  return partsOf(schema).flatMap(([name, part]) => [name ?? [], fieldNames(part)].flat());
}

/** The names that a map at a path inside a schema can have; none where no map can be. */
export function namesInside(
  schema: z.core.$ZodType,
  [first, ...rest]: readonly PropertyKey[],
): readonly string[] {
  return partsOf(schema).flatMap(([name, part]) => {
    if (first === undefined) return name ?? [];
    return name === undefined || name === first ? namesInside(part, rest) : [];
  });
}

export function definition(schema: z.core.$ZodType): z.core.$ZodTypes["_zod"]["def"] {
  return (schema as z.core.$ZodTypes)._zod.def;
}

export function describeField({ meaning, byDefault, bounds }: FieldText): string {
  const parts = [
    meaning,
    ...(byDefault === undefined ? [] : [`Default: ${byDefault}.`]),
    ...(bounds === undefined ? [] : [`Allowed: ${bounds}.`]),
  ];
  return parts.join(" ");
}

export const typeText: FieldText = {
  meaning: "What kind of thing the resource is; it decides what the steps that use it can do.",
  bounds: "`http`, `sql`, `browser`, or `cli`",
};

/** For each field that is compared with a text. */
export const expectedText = "as it stands, or between slashes a regular expression that some line matches";
