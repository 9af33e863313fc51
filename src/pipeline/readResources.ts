import { checkShape, isMap } from "./checkShape.ts";
import { hasReference } from "./environmentReference.ts";
import { suggestion } from "./nearestName.ts";
import { isName, resourceTypes, runnableTypes } from "./pipeline.ts";
import {
  type CliResourceFile,
  cliResourceSchema,
  type HttpResourceFile,
  httpResourceSchema,
} from "./pipelineFile.ts";
import type { ProblemList } from "./problemList.ts";
import { quoted } from "./quoted.ts";
import type { Path } from "./yamlSource.ts";

/** A resource that steps name. One that is wrong itself is kept, so that its steps aren't blamed for it. */
export type Resource =
  | { readonly kind: "usable"; readonly name: string; readonly settings: HttpSettings | CliSettings }
  | { readonly kind: "wrong" };

export interface HttpSettings {
  readonly type: "http";
  readonly file: HttpResourceFile;
  readonly path: Path;
}

export interface CliSettings {
  readonly type: "cli";
  readonly file: CliResourceFile;
  readonly path: Path;
}

export function readResources(value: unknown, problems: ProblemList): ReadonlyMap<string, Resource> {
  const resources = new Map<string, Resource>();
  if (!isMap(value)) return resources;
  for (const [name, entry] of Object.entries(value)) {
    if (problems.full) break;
    const path = ["resources", name];
    if (!isName(name)) {
      problems.addToName(
        path,
        "a resource's name begins with a letter or digit and goes on with letters, digits, `.`, `_` and `-`",
      );
    }
    const settings = readSettings(name, entry, path, problems);
    resources.set(name, settings === undefined ? { kind: "wrong" } : { kind: "usable", name, settings });
    if (settings?.type === "http") checkBaseUrl(settings.file["base-url"], path, problems);
  }
  return resources;
}

function readSettings(
  name: string,
  entry: unknown,
  path: Path,
  problems: ProblemList,
): HttpSettings | CliSettings | undefined {
  const types = `the types are ${resourceTypes.join(", ")}`;
  if (!isMap(entry)) {
    problems.add(
      path,
      `a resource is a map with a \`type\`, such as \`${quoted(name)}: { type: cli }\`; ${types}`,
    );
    return undefined;
  }
  const type = entry["type"];
  switch (type) {
    case "http": {
      const shape = { schema: httpResourceSchema, noun: "an http resource" };
      const file = checkShape(shape, entry, path, problems);
      return file && { type, file, path };
    }
    case "cli": {
      const shape = { schema: cliResourceSchema, noun: "a cli resource" };
      const file = checkShape(shape, entry, path, problems);
      return file && { type, file, path };
    }
    case "sql":
    case "browser":
      problems.add(
        [...path, "type"],
        `this version doesn't run ${type} resources yet; it runs ${runnableTypes.join(" and ")}`,
      );
      return undefined;
    case undefined:
      problems.add(path, `the resource \`${quoted(name)}\` needs a \`type\`; ${types}`);
      return undefined;
    default: {
      const written = typeof type === "string" ? type : JSON.stringify(type);
      const near = suggestion(written, resourceTypes);
      problems.add(
        [...path, "type"],
        `there is no resource type \`${quoted(written)}\`${near || ";"} ${types}`,
      );
      return undefined;
    }
  }
}

function checkBaseUrl(written: string | undefined, path: Path, problems: ProblemList): void {
  if (written === undefined || hasReference(written)) return;
  const problem = problemOfUrl(written);
  if (problem !== undefined) problems.add([...path, "base-url"], problem);
}

/** @returns undefined for an address that an http step can use. */
export function problemOfUrl(written: string): string | undefined {
  if (!/^https?:\/\//i.test(written)) {
    return `\`${quoted(written)}\` is no address: it begins with http:// or https://`;
  }
  const url = URL.parse(written);
  if (url === null) return `\`${quoted(written)}\` is no address`;
  if (url.username !== "" || url.password !== "") {
    return "an address holds no user and password; send them in an `authorization` header";
  }
  return undefined;
}
