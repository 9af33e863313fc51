import { problemOfUrl } from "../address.ts";
import { checkShape } from "../checkShape.ts";
import { hasReference } from "../environmentReference.ts";
import type { ResourceType } from "../resourceType.ts";
import { httpResourceSchema, httpStepFileSchema } from "./httpFile.ts";
import { httpMethods } from "./httpStep.ts";
import { insteadOfPassword, readHttpStep } from "./readHttpStep.ts";

export const httpType: ResourceType = {
  type: "http",
  actions: `one of ${httpMethods.join(", ")}`,
  stepNames: Object.keys(httpStepFileSchema.def.shape),
  standIn: { type: "http", "base-url": "http://127.0.0.1" },
  readResource(entry, path, problems) {
    const shape = { schema: httpResourceSchema, noun: "an http resource" };
    const resource = checkShape(shape, entry, path, problems);
    if (resource === undefined) return undefined;
    const base = resource["base-url"];
    const problem =
      base === undefined || hasReference(base) ? undefined : problemOfUrl(base, insteadOfPassword);
    if (problem !== undefined) problems.add([...path, "base-url"], problem);
    return (step, reading) => {
      const stepShape = { schema: httpStepFileSchema, noun: "an http step", foreign: reading.foreignName };
      const file = checkShape(stepShape, step, reading.path, reading.problems);
      return file && readHttpStep(file, { file: resource, path }, reading);
    };
  },
};
