import assert from "node:assert/strict";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Role } from "../../../src/contract/keys.ts";
import { idMaker } from "../../../src/service/store/ids.ts";
import { createKey } from "../../../src/service/store/keys.ts";
import { openDatabase } from "../../../src/service/store/openDatabase.ts";
import { type Told, watchedTool } from "./watchedTool.ts";

interface AskOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/**
 * The real tool beside the real service, which `pipeline serve --json` has started as a process of its own. Each test takes
 * an org of its own, so that one service is enough for many.
 */
export async function servedTool() {
  const tool = await watchedTool();
  const serving = tool.spawn(["serve", "--port", "0", "--json"]);
  assert(serving.stdout !== null);
  const lines = createInterface({ input: serving.stdout });
  const [line] = await once(lines, "line");
  const told: Told = JSON.parse(String(line));
  const url: string = told.url;
  const db = await openDatabase(tool.data);
  const makeId = idMaker(Date.now);
  let orgs = 0;

  /** Someone with a key: the tool's environment, and HTTP requests as they are. */
  const member = async (role: Role = "member", orgName = `org ${++orgs}`) => {
    const { secret, keyId, orgId } = await createKey(db, { orgName, role }, { now: Date.now, makeId });
    /** One request with the key. A body is sent as JSON. */
    const ask = (method: string, path: string, { body, headers = {}, signal }: AskOptions = {}) =>
      fetch(`${url}${path}`, {
        method,
        headers: {
          "x-api-key": secret,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: signal ?? null,
        redirect: "manual",
      });
    /** The JSON object of a good answer. */
    const askGood = async (...args: Parameters<typeof ask>): Promise<Told> => {
      const reply = await ask(...args);
      const text = await reply.text();
      assert(reply.ok, `${args[0]} ${args[1]} answered ${reply.status}: ${text}`);
      return JSON.parse(text);
    };
    await ask("PUT", "/api/projects/shop", { body: { root: tool.project } });
    return {
      env: { PIPELINE_BASE_URL: url, PIPELINE_API_KEY: secret },
      keyId,
      orgId,
      secret,
      ask,
      told: askGood,
      /** Starts a run over HTTP, which must be granted, and returns its record. */
      start: (pipeline: string, more: Readonly<Record<string, unknown>> = {}) =>
        askGood("POST", "/api/runs", { body: { pipeline, project: "shop", ...more } }),
      /** The run's record once it has stopped. */
      async stopped(runId: string) {
        // The log is live until the run stops, so its end is the run's.
        const log = await ask("GET", `/api/runs/${runId}/log`, {
          headers: { accept: "application/x-ndjson" },
        });
        await log.text();
        return askGood("GET", `/api/runs/${runId}`);
      },
    };
  };

  return {
    ...tool,
    url,
    db,
    /** The first line that the service printed. */
    told,
    pid: serving.pid,
    member,
    async [Symbol.asyncDispose]() {
      await db.destroy();
      serving.kill("SIGTERM");
      await serving;
      await tool[Symbol.asyncDispose]();
    },
  };
}

export type ServedTool = Awaited<ReturnType<typeof servedTool>>;
export type Member = Awaited<ReturnType<ServedTool["member"]>>;
