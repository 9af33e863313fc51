import { problemOfUrl } from "../address.ts";
import { checkShape } from "../checkShape.ts";
import { hasReference } from "../environmentReference.ts";
import type { ResourceType } from "../resourceType.ts";
import { browserResourceSchema, browserStepOutlineSchema } from "./browserFile.ts";
import { insteadOfPassword, readBrowserStep } from "./readBrowserStep.ts";
import { readLists } from "./readLists.ts";

export const browserType: ResourceType = {
  type: "browser",
  actions: "goto, actions, expect, screenshot",
  stepNames: Object.keys(browserStepOutlineSchema.def.shape),
  standIn: { type: "browser", "base-url": "http://127.0.0.1" },
  readResource(entry, path, problems) {
    const shape = { schema: browserResourceSchema, noun: "a browser resource" };
    const resource = checkShape(shape, entry, path, problems);
    if (resource === undefined) return undefined;
    const base = resource["base-url"];
    const problem =
      base === undefined || hasReference(base) ? undefined : problemOfUrl(base, insteadOfPassword);
    if (problem !== undefined) problems.add([...path, "base-url"], problem);
    // Steps are read in their order, so the first one that uses this resource is the first one read.
    let isOpen = false;
    return (step, reading) => {
      const stepShape = {
        schema: browserStepOutlineSchema,
        noun: "a browser step",
        foreign: reading.foreignName,
      };
      const file = checkShape(stepShape, step, reading.path, reading.problems);
      const lists = readLists(step, reading);
      const read = file && readBrowserStep(file, lists, { file: resource, path, isOpen }, reading);
      // One that is wrong would have opened a page perhaps, so the next isn't blamed for having none.
      isOpen = true;
      return read;
    };
  },
};
