import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod/mini";
import { anySignal } from "../../../src/machine/anySignal.ts";
import { pick, type Round } from "../round.ts";
import type { MachineTeam, Member } from "./machineTeam.ts";

interface AskedStart {
  readonly leaving: AbortController;
  /** The run, `refused`, or undefined while it is open, or was left or given up. */
  outcome: string | undefined;
  done: Promise<void>;
}

/** How long a request may take beyond what it waits for its slot, in milliseconds; then it is sent again. */
const requestMilliseconds = 10_000;

/** The starts and cancels that clients ask any server for, and what they were answered. */
export class MachineStarts {
  readonly #round: Round;
  readonly #team: MachineTeam;
  readonly #asked: AskedStart[] = [];

  constructor(round: Round, team: MachineTeam) {
    this.#round = round;
    this.#team = team;
  }

  /** The number of requests without an answer yet. */
  get open(): number {
    return this.#asked.filter(({ outcome, leaving }) => outcome === undefined && !leaving.signal.aborted)
      .length;
  }

  ask(member: Member, server: number, wait: number, seconds: number): void {
    const leaving = new AbortController();
    const asked: AskedStart = { leaving, outcome: undefined, done: Promise.resolve() };
    const name = `p${this.#asked.length}`;
    const command = `exec 9>>${member.lock}; flock -n 9 || echo ${name} >> ${member.overlaps}; echo begun; sleep ${seconds}; echo done`;
    const text = `resources:\n  shell: { type: cli }\nsteps:\n  - use: shell\n    run: ${JSON.stringify(command)}\n`;
    asked.done = this.#request(member, server, "runs", {
      body: { pipeline: name, project: "shop", definition: { path: `pipelines/${name}.yaml`, text } },
      key: randomUUID(),
      wait,
      signal: leaving.signal,
    }).then((reply) => {
      if (reply?.status === 201) asked.outcome = startedSchema.parse(reply.body)["run-id"];
      if (reply?.status === 429) {
        asked.outcome = "refused";
      }
      if (reply === undefined) leaving.abort();
    });
    this.#asked.push(asked);
  }

  async cancel(member: Member, server: number, runId: string): Promise<void> {
    await this.#request(member, server, `runs/${runId}/cancel`, {});
  }

  leave(which: number): void {
    pick(this.#asked, which)?.leaving.abort();
  }

  /** To be called once everything is at rest. @param ids of all runs in the database. */
  async finish(ids: ReadonlySet<string>): Promise<void> {
    await Promise.all(this.#asked.map(({ done }) => done));
    for (const { outcome } of this.#asked) {
      if (outcome === undefined || outcome === "refused") continue;
      this.#round.check(ids.has(outcome), "a run that was answered is gone", { outcome });
    }
  }

  leaveAll(): void {
    for (const { leaving } of this.#asked) leaving.abort();
  }

  /**
   * Asks one server after the other, some of them over a line that may break, as a client behind a balancer does, until one
   * answers. @returns undefined when it gives up.
   */
  async #request(
    { apiKey }: Member,
    first: number,
    path: string,
    {
      body,
      key,
      wait = 0,
      signal = new AbortController().signal,
    }: {
      readonly body?: unknown;
      readonly key?: string;
      readonly wait?: number;
      readonly signal?: AbortSignal;
    },
  ): Promise<{ readonly status: number; readonly body: unknown } | undefined> {
    const { servers, lines } = this.#team;
    const ways = () => [...servers.map(({ url }) => url), ...lines.clients.map(({ origin }) => origin)];
    for (let attempt = 0; attempt < 200 && !signal.aborted; attempt++) {
      try {
        const timeout = AbortSignal.timeout(wait * 1000 + requestMilliseconds);
        const reply = await fetch(`${pick(ways(), first + attempt)}/api/${path}`, {
          method: "POST",
          headers: {
            "x-api-key": apiKey,
            ...(key === undefined ? {} : { "idempotency-key": key }),
            ...(wait > 0 ? { prefer: `wait=${wait}` } : {}),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          signal: anySignal([signal, timeout]),
        });
        const text = await reply.text();
        if (reply.status < 500) return { status: reply.status, body: JSON.parse(text) };
        this.#round.check(reply.status === 503, "a server failed at a request", { path, text });
      } catch {
        // It was killed, suspended or cut off, or is not there yet.
      }
      await pause(100);
    }
    return undefined;
  }
}

const startedSchema = z.object({ "run-id": z.string() });
