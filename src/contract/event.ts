import { type Org, orgSchema } from "./org.ts";
import { type Run, runSchema } from "./run.ts";
import { fromWire, type Parsed } from "./wire.ts";

/** What `GET /api/events` tells: the org whenever its numbers change, a run whenever it changes. */
export type ServiceEvent =
  | { readonly kind: "org"; readonly org: Org }
  | { readonly kind: "run"; readonly run: Run };

/** Reads one server-sent event. @returns undefined for an event name that this version doesn't know. */
export function readEvent(name: string, data: string): Parsed<ServiceEvent> | undefined {
  if (name !== "org" && name !== "run") return undefined;
  let body: unknown;
  try {
    body = JSON.parse(data);
  } catch {
    return { kind: "invalid", problem: `the data of an \`${name}\` event is not JSON` };
  }
  if (name === "org") {
    const org = fromWire(orgSchema, body);
    return org.kind === "valid" ? { kind: "valid", value: { kind: "org", org: org.value } } : org;
  }
  const run = fromWire(runSchema, body);
  return run.kind === "valid" ? { kind: "valid", value: { kind: "run", run: run.value } } : run;
}
