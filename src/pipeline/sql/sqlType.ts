import { checkShape } from "../checkShape.ts";
import { hasReference } from "../environmentReference.ts";
import type { ResourceType } from "../resourceType.ts";
import { readDatabaseUrl } from "./databaseUrl.ts";
import { readSqlStep } from "./readSqlStep.ts";
import { sqlResourceSchema, sqlStepFileSchema } from "./sqlFile.ts";

export const sqlType: ResourceType = {
  type: "sql",
  actions: "`query` or `statements`",
  stepNames: Object.keys(sqlStepFileSchema.def.shape),
  standIn: { type: "sql", url: "sqlite::memory:" },
  readResource(entry, path, problems) {
    const shape = { schema: sqlResourceSchema, noun: "an sql resource" };
    const resource = checkShape(shape, entry, path, problems);
    if (resource === undefined) return undefined;
    const read = readDatabaseUrl(resource.url);
    if (read.kind === "invalid") {
      problems.add([...path, "url"], read.problem);
      return undefined;
    }
    const { database } = read;
    if (database.kind === "postgres" && database.password !== "" && !hasReference(database.password)) {
      problems.add(
        [...path, "url"],
        `a password doesn't belong into the file; take it from the environment, such as \`postgres://app:\${{ env.DB_PASSWORD }}@host/database\``,
      );
    }
    return (step, reading) => {
      const stepShape = { schema: sqlStepFileSchema, noun: "an sql step", foreign: reading.foreignName };
      const file = checkShape(stepShape, step, reading.path, reading.problems);
      return file && readSqlStep(file, { file: resource, path, database }, reading);
    };
  },
};
