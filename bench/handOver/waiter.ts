// Those who wait for a slot: each start comes to its slot in one of the ways that are compared.
import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { ServiceClient } from "../../src/client/service/client.ts";
import { environmentFetch } from "../../src/client/service/environmentFetch.ts";
import type { Fetch } from "../../src/client/service/request.ts";
import { startRun } from "../../src/client/start/startRun.ts";
import { answerCalls, sharedNow } from "../worker/answerCalls.ts";
import type { Started, WaiterCalls, Way } from "./calls.ts";

const never = new AbortController().signal;
const agent = new Agent({ keepAlive: true });
const fetches = new Map<string, Fetch>();

answerCalls<WaiterCalls>(
  {
    start(way, url, key) {
      switch (way) {
        case "bare":
          return barely(url, key);
        case "client":
        case "client-unheld":
          return byClient(way, url, key);
        case "every-3-s":
          return every3Seconds(url, key);
        default:
          return way satisfies never;
      }
    },
  },
  () => agent.destroy(),
);

async function barely(url: string, key: string): Promise<Started> {
  const status = await post(url, { "x-api-key": key, prefer: "wait=120" });
  if (status !== 201) throw new Error(`a held start was answered with ${status}`);
  return { at: sharedNow(), requests: 1 };
}

async function byClient(way: Way, url: string, key: string): Promise<Started> {
  const baseUrl = new URL(url);
  const direct = fetches.get(url) ?? environmentFetch(baseUrl, {});
  fetches.set(url, direct);
  let requests = 0;
  const fetch: Fetch = (address, { headers, ...asked }) => {
    requests += 1;
    const { prefer, ...others } = headers;
    const isHeld = prefer !== undefined && way === "client";
    return direct(address, { ...asked, headers: isHeld ? { ...others, prefer } : others });
  };
  const client = new ServiceClient({ baseUrl, apiKey: key, fetch });
  const outcome = await startRun({ pipeline: "hello" }, { client, onWaiting: () => {} }, never);
  if (outcome.kind !== "started") throw new Error(`a start was refused with scope ${outcome.refusal.scope}`);
  return { at: sharedNow(), requests };
}

async function every3Seconds(url: string, key: string): Promise<Started> {
  const headers = { "x-api-key": key, "idempotency-key": randomUUID() };
  for (let requests = 1; ; requests += 1) {
    if ((await post(url, headers)) === 201) return { at: sharedNow(), requests };
    await pause(3_000);
  }
}

/** @returns the reply's status, once all of it has been read. */
function post(url: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/api/runs`, {
      method: "POST",
      agent,
      headers: { ...headers, "content-type": "application/json" },
    });
    asked.once("error", reject);
    asked.once("response", (reply) => {
      reply.resume().once("end", () => resolve(reply.statusCode ?? 0));
    });
    asked.end('{"pipeline":"hello"}');
  });
}
