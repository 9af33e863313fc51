import * as z from "zod/mini";
import { definition, type FieldText, needed, textOf, typeText } from "../file/fieldTexts.ts";
import { everyStep } from "../file/values.ts";
import { wholeFileSchema } from "../pipelineFile.ts";
import { includeFileSchema } from "../readSteps.ts";
import { findResourceType, resourceTypes } from "../types/resourceTypes.ts";
import { type ResourceTypeName, resourceTypeNames } from "../types/resultFields.ts";
import { inputText } from "./members.ts";
import { type Outline, type OutlinedStep, stepLists } from "./outline.ts";
import { type Crumb, type Tree, textValueOf } from "./tree.ts";

/** What the schema allows at a position. Several may apply: `press` takes a text or a map. */
export interface Shape {
  /** A map of fixed names. */
  readonly fields: ReadonlyMap<string, Field>;
  /** The values of a map with arbitrary names. */
  readonly named: Shape | undefined;
  readonly item: Shape | undefined;
  /** The allowed texts; empty for free text. */
  readonly words: readonly string[];
  /** Whether a string, number or boolean is allowed. */
  readonly isText: boolean;
}

export interface Field {
  readonly name: string;
  readonly text: FieldText | undefined;
  readonly isRequired: boolean;
  readonly shape: Shape;
}

const anything: Shape = {
  fields: new Map(),
  named: undefined,
  item: undefined,
  words: [],
  isText: false,
};

/** The shapes of each type's resources and steps, from the parser's schemas. */
export const typeShapes: ReadonlyMap<ResourceTypeName, { readonly resource: Shape; readonly step: Shape }> =
  new Map(
    resourceTypeNames.map((name) => {
      const { resource, step } = resourceTypes[name].file;
      return [name, { resource: shapeOf(resource), step: shapeOf(step) }];
    }),
  );

export const topShape: Shape = shapeOf(wholeFileSchema);

const resourceWithoutType: Shape = shapeOf(
  z.strictObject({ type: needed(z.enum(resourceTypeNames), typeText) }),
);

export const includeShape: Shape = shapeOf(includeFileSchema);

/** A step without a known resource, which may still become a part. */
export const stepWithoutResource: Shape = shapeOf(
  z.strictObject({ ...everyStep, include: z.optional(includeFileSchema.shape.include) }),
);

/** @param crumbs the path to the position, as `spotAt` returns it. */
export function shapeAt(crumbs: readonly Crumb[], outline: Outline): Shape {
  const [first, second, ...rest] = crumbs;
  if (first === undefined) return topShape;
  if (first.kind === "item") return anything;
  const top = first.entry.name.text;
  if (top === "resources") {
    if (second === undefined) return { ...anything, named: resourceWithoutType };
    return second.kind === "entry" ? follow(resourceShape(second.entry.value), rest) : anything;
  }
  if (isStepList(top)) {
    if (second === undefined) return { ...anything, item: stepWithoutResource };
    if (second.kind === "entry") return anything;
    return follow(stepShape(stepAt(crumbs, outline), outline), rest);
  }
  return follow(topShape, crumbs);
}

function resourceShape(tree: Tree | undefined): Shape {
  const known = findResourceType(textValueOf(tree, "type")?.text);
  return (known && typeShapes.get(known.type)?.resource) ?? resourceWithoutType;
}

function stepShape(step: OutlinedStep | undefined, outline: Outline): Shape {
  if (step?.include !== undefined) return partShape(step.include.text, outline);
  return (step?.type && typeShapes.get(step.type)?.step) ?? stepWithoutResource;
}

function partShape(path: string, outline: Outline): Shape {
  const declared = outline.part(path)?.inputs;
  const inputs = includeShape.fields.get("inputs");
  if (declared === undefined || inputs === undefined) return includeShape;
  const fields = declared.map((input): readonly [string, Field] => {
    const { name, meaning } = inputText(input);
    const values = input.type === "boolean" ? ["true", "false"] : input.options;
    const shape = { ...anything, isText: true, words: values };
    return [name, { name, text: { meaning }, isRequired: input.default === undefined, shape }];
  });
  const shape = { ...anything, fields: new Map(fields) };
  return { ...includeShape, fields: new Map([...includeShape.fields, ["inputs", { ...inputs, shape }]]) };
}

/** The text of the field whose name or value is at a position. */
export function fieldTextAt(crumbs: readonly Crumb[], outline: Outline): FieldText | undefined {
  const last = crumbs.at(-1);
  if (last?.kind !== "entry") return undefined;
  return shapeAt(crumbs.slice(0, -1), outline).fields.get(last.entry.name.text)?.text;
}

export function isStepList(name: string): boolean {
  return stepLists.some((list) => list === name);
}

export function stepAt([top, item]: readonly Crumb[], { steps }: Outline): OutlinedStep | undefined {
  if (top?.kind !== "entry" || item?.kind !== "item") return undefined;
  return steps.find(({ list, index }) => list === top.entry.name.text && index === item.index);
}

function follow(shape: Shape, crumbs: readonly Crumb[]): Shape {
  return crumbs.reduce((at, crumb) => {
    if (crumb.kind === "item") return at.item ?? anything;
    return at.fields.get(crumb.entry.name.text)?.shape ?? at.named ?? anything;
  }, shape);
}

function shapeOf(schema: z.core.$ZodType): Shape {
  const def = definition(schema);
  switch (def.type) {
    case "optional":
    case "nullable":
      return shapeOf(def.innerType);
    case "object":
      return { ...anything, fields: fieldsOf(def.shape) };
    case "record":
      return { ...anything, named: shapeOf(def.valueType) };
    case "array":
      return { ...anything, item: shapeOf(def.element) };
    case "union":
      return def.options.map((option) => shapeOf(option)).reduce(either);
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

function fieldsOf(shape: Readonly<Record<string, z.core.$ZodType>>): ReadonlyMap<string, Field> {
  return new Map(
    Object.entries(shape).map(([name, schema]) => {
      const def = definition(schema);
      const isRequired = def.type !== "optional";
      const text = textOf(schema) ?? (def.type === "optional" ? textOf(def.innerType) : undefined);
      return [name, { name, text, isRequired, shape: shapeOf(schema) }];
    }),
  );
}

/** Merges the options of a union. */
function either(one: Shape, other: Shape): Shape {
  return {
    fields: new Map([...one.fields, ...other.fields]),
    named: one.named ?? other.named,
    item: one.item ?? other.item,
    words: [...one.words, ...other.words],
    isText: one.isText || other.isText,
  };
}
