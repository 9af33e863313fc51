import type * as z from "zod/mini";
import type { FieldText, FieldTexts } from "../words/fieldText.ts";

/** What may stand at a place of the file. Several of these can: a key is pressed as a text or as a map. */
export interface Shape {
  /** A map of fixed names. */
  readonly fields: ReadonlyMap<string, Field>;
  /** Whether only one of the fields stands in such a map, as in an entry of `actions`. */
  readonly isOneField: boolean;
  /** A map with names of the file's own. */
  readonly named: Shape | undefined;
  readonly item: Shape | undefined;
  /** The words that there are; none where the text is free. */
  readonly words: readonly string[];
  /** Whether a text, a number or a truth value can stand here. */
  readonly isText: boolean;
}

export interface Field {
  readonly name: string;
  readonly text: FieldText | undefined;
  readonly isRequired: boolean;
  readonly shape: Shape;
}

export const anything: Shape = {
  fields: new Map(),
  isOneField: false,
  named: undefined,
  item: undefined,
  words: [],
  isText: false,
};

/** The shape that a schema of the file describes, with what is said of its fields. */
export function shapeOf(schema: z.core.$ZodType, texts: FieldTexts, prefix = ""): Shape {
  const def = definition(schema);
  switch (def.type) {
    case "optional":
      return shapeOf(def.innerType, texts, prefix);
    case "object":
      return { ...anything, fields: fieldsOf(def.shape, texts, prefix) };
    case "record":
      return { ...anything, named: shapeOf(def.valueType, texts, prefix) };
    case "array":
      return { ...anything, item: shapeOf(def.element, texts, prefix) };
    case "union":
      return def.options.map((option) => shapeOf(option, texts, prefix)).reduce(either);
    case "enum":
      return { ...anything, isText: true, words: Object.values(def.entries).map(String) };
    case "literal":
      return { ...anything, isText: true, words: def.values.map(String) };
    case "string":
    case "number":
    case "boolean":
      return { ...anything, isText: true };
    default:
      return anything;
  }
}

/** A field that stands inside another is told of by both names. */
function pathOf(prefix: string, name: string): string {
  return prefix === "" ? name : `${prefix}.${name}`;
}

function fieldsOf(
  shape: Readonly<Record<string, z.core.$ZodType>>,
  texts: FieldTexts,
  prefix: string,
): ReadonlyMap<string, Field> {
  return new Map(
    Object.entries(shape).map(([name, schema]) => {
      const path = pathOf(prefix, name);
      const isRequired = definition(schema).type !== "optional";
      return [name, { name, text: texts[path], isRequired, shape: shapeOf(schema, texts, path) }];
    }),
  );
}

/** Of maps that hold one name each, one map of which one name is chosen. */
function either(one: Shape, other: Shape): Shape {
  const isOneField = [one, other].every(({ fields, isOneField }) => fields.size === 1 || isOneField);
  return {
    fields: new Map([...one.fields, ...other.fields]),
    isOneField,
    named: one.named ?? other.named,
    item: one.item ?? other.item,
    words: [...one.words, ...other.words],
    isText: one.isText || other.isText,
  };
}

/** The kinds of schema that the file is made of. */
function definition(schema: z.core.$ZodType): z.core.$ZodTypes["_zod"]["def"] {
  return (schema as z.core.$ZodTypes)._zod.def;
}
