import { checkShape } from "../checkShape.ts";
import type { ResourceType } from "../resourceType.ts";
import { cliResourceSchema, cliStepFileSchema } from "./cliFile.ts";
import { readCliStep } from "./readCliStep.ts";

export const cliType: ResourceType = {
  type: "cli",
  actions: "`run`",
  stepNames: Object.keys(cliStepFileSchema.def.shape),
  standIn: { type: "cli" },
  readResource(entry, path, problems) {
    const resource = checkShape({ schema: cliResourceSchema, noun: "a cli resource" }, entry, path, problems);
    if (resource === undefined) return undefined;
    return (step, reading) => {
      const shape = { schema: cliStepFileSchema, noun: "a cli step", foreign: reading.foreignName };
      const file = checkShape(shape, step, reading.path, reading.problems);
      return file && readCliStep(file, { file: resource, path }, reading);
    };
  },
};
