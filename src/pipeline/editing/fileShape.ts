import { browserResourceSchema, browserStepFileSchema } from "../browser/browserFile.ts";
import { cliResourceSchema, cliStepFileSchema } from "../cli/cliType.ts";
import { everyStep } from "../fileParts.ts";
import { httpResourceSchema, httpStepFileSchema } from "../http/httpType.ts";
import { type ResourceTypeName, resourceTypeNames } from "../pipeline.ts";
import { outlineSchema } from "../pipelineFile.ts";
import { sqlResourceSchema, sqlStepFileSchema } from "../sql/sqlType.ts";
import { browserResourceTexts, browserStepTexts } from "../words/browserTexts.ts";
import { cliResourceTexts, cliStepTexts } from "../words/cliTexts.ts";
import type { FieldText } from "../words/fieldText.ts";
import { httpResourceTexts, httpStepTexts } from "../words/httpTexts.ts";
import { everyStepTexts, pipelineTexts, typeText } from "../words/pipelineTexts.ts";
import { sqlResourceTexts, sqlStepTexts } from "../words/sqlTexts.ts";
import { type Outline, typeOfUse } from "./outline.ts";
import { anything, type Field, type Shape, shapeOf } from "./shape.ts";
import type { Tree } from "./tree.ts";
import { type Crumb, textBehind } from "./treeParts.ts";

interface TypeShapes {
  readonly resource: Shape;
  readonly step: Shape;
}

/** What resources of each type and their steps can hold, out of the schemas that the parser checks by. */
export const typeShapes: Readonly<Record<ResourceTypeName, TypeShapes>> = {
  http: {
    resource: shapeOf(httpResourceSchema, httpResourceTexts),
    step: shapeOf(httpStepFileSchema, httpStepTexts),
  },
  sql: {
    resource: shapeOf(sqlResourceSchema, sqlResourceTexts),
    step: shapeOf(sqlStepFileSchema, sqlStepTexts),
  },
  browser: {
    resource: shapeOf(browserResourceSchema, browserResourceTexts),
    step: shapeOf(browserStepFileSchema, browserStepTexts),
  },
  cli: {
    resource: shapeOf(cliResourceSchema, cliResourceTexts),
    step: shapeOf(cliStepFileSchema, cliStepTexts),
  },
};

/** The file's outermost level. */
export const topShape: Shape = shapeOf(outlineSchema, pipelineTexts);

/** A resource whose type isn't said yet. */
const typelessResource: Shape = {
  ...anything,
  fields: new Map([
    ["type", field("type", typeText, { ...anything, isText: true, words: [...resourceTypeNames] })],
  ]),
};

/** A step whose resource isn't said yet, or isn't known. */
const unusingStep: Shape = {
  ...anything,
  fields: new Map(
    Object.keys(everyStep).map((name) => [
      name,
      field(name, everyStepTexts[name], { ...anything, isText: true }),
    ]),
  ),
};

/**
 * What may stand at a place of a file.
 * @param crumbs the way there, as `spotAt` tells it.
 */
export function shapeAt(crumbs: readonly Crumb[], outline: Outline): Shape {
  const [first, second, ...rest] = crumbs;
  if (first === undefined) return topShape;
  if (first.kind === "item") return anything;
  const top = first.entry.name.text;
  if (top === "resources") {
    if (second === undefined) return { ...anything, named: typelessResource };
    return second.kind === "entry" ? follow(resourceShape(second.entry.value), rest) : anything;
  }
  if (top === "steps") {
    if (second === undefined) return { ...anything, item: unusingStep };
    if (second.kind === "entry") return anything;
    return follow(stepShape(second.list.items[second.index], outline), rest);
  }
  return follow(topShape, crumbs);
}

function resourceShape(tree: Tree | undefined): Shape {
  const type = textBehind(tree, "type")?.text;
  const known = resourceTypeNames.find((name) => name === type);
  return known === undefined ? typelessResource : typeShapes[known].resource;
}

/** What a step can hold, by the type of the resource that it uses. */
function stepShape(tree: Tree | undefined, outline: Outline): Shape {
  const type = typeOfUse(outline, textBehind(tree, "use")?.text);
  return type === undefined ? unusingStep : typeShapes[type].step;
}

function follow(shape: Shape, crumbs: readonly Crumb[]): Shape {
  return crumbs.reduce((at, crumb) => {
    if (crumb.kind === "item") return at.item ?? anything;
    return at.fields.get(crumb.entry.name.text)?.shape ?? at.named ?? anything;
  }, shape);
}

function field(name: string, text: FieldText | undefined, shape: Shape): Field {
  return { name, text, isRequired: true, shape };
}
