import { browserType } from "./browser.ts";
import type { BrowserStep } from "./browserStep.ts";
import { type CliStep, cliType } from "./cli.ts";
import { httpType } from "./http.ts";
import type { HttpStep } from "./httpStep.ts";
import type { ResourceType } from "./resourceType.ts";
import { type ResourceTypeName, resourceTypeNames } from "./resultFields.ts";
import { type SqlStep, sqlType } from "./sql.ts";

/**
 * Every resource type. A new one needs:
 *
 * 1. a file in this folder, with its step and its `ResourceType`: `cli.ts` is the shortest example;
 * 2. its name in `resourceTypeNames`, its entry here and its step below: parser, JSON Schema, completion and hover follow;
 * 3. what runs its steps, in `runner/steps/performStep.ts`, and what shows them without a run, in `dryStep.ts` beside it, where the
 *    compiler asks for them.
 *
 * A page in `docs/resources/` and a sample pipeline tell people of it.
 */
export const resourceTypes: Readonly<Record<ResourceTypeName, ResourceType<Step>>> = {
  http: httpType,
  sql: sqlType,
  browser: browserType,
  cli: cliType,
};

/** A step of any type, resolved against its resource and ready to run. */
export type Step = HttpStep | SqlStep | BrowserStep | CliStep;

export function findResourceType(name: unknown): ResourceType<Step> | undefined {
  const known = resourceTypeNames.find((type) => type === name);
  return known && resourceTypes[known];
}
