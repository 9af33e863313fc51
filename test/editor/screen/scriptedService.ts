import type { ServerResponse } from "node:http";
import { type Asked, LoopbackService, orgOnWire, runOnWire, sendJson } from "../../client/loopbackService.ts";

type WireRun = ReturnType<typeof runOnWire>;

/**
 * A service whose state a test writes: a slot that someone else holds, a day that is used up, a clock that is off. It
 * has the endpoints that an editor asks, and tells of changes by events.
 */
export class ScriptedService implements AsyncDisposable {
  /** Where its clock stands, in milliseconds since 1970; it goes as this machine's does when left out. */
  standsAt: number | undefined;
  /** The id of the key that asks. */
  readonly me = "key_me";
  /** Once so many runs are counted none is started any more. */
  used = 0;
  /** Active runs, and those that have stopped. */
  readonly runs: WireRun[] = [];
  readonly #streams = new Set<ServerResponse>();
  readonly #server: LoopbackService;

  static async listen(): Promise<ScriptedService> {
    const later: { service?: ScriptedService } = {};
    const server = await LoopbackService.listen((asked, response) => later.service?.answer(asked, response));
    later.service = new ScriptedService(server);
    return later.service;
  }

  private constructor(server: LoopbackService) {
    this.#server = server;
  }

  get origin(): string {
    return this.#server.origin;
  }

  /** How many starts were asked for. */
  get starts(): number {
    return this.#server.asked.filter(({ method, path }) => method === "POST" && path === "/api/runs").length;
  }

  now(): number {
    return this.standsAt ?? Date.now();
  }

  /** Someone's run takes the slot. */
  begin(others: Readonly<Record<string, unknown>>): void {
    this.#put(runOnWire({ "created-at": new Date(this.now()).toISOString(), project: "shop", ...others }));
  }

  /** Every active run comes to this end. */
  endAll(status: string): void {
    for (const run of this.#inWork())
      this.#put({ ...run, status, "stopped-at": new Date(this.now()).toISOString() });
  }

  answer(asked: Asked, response: ServerResponse): void {
    response.setHeader("date", new Date(this.now()).toUTCString());
    const { pathname } = new URL(asked.path, this.origin);
    const [, runId, cancel] = /^\/api\/runs\/([^/]+)(\/cancel)?$/.exec(pathname) ?? [];
    const run = this.runs.find((one) => one["run-id"] === runId);
    if (pathname === "/api/org") sendJson(response, 200, this.#org());
    else if (pathname === "/api/events") this.#open(response);
    else if (pathname === "/api/pipelines") sendJson(response, 200, { pipelines: [] });
    else if (pathname === "/api/runs" && asked.method === "POST") this.#start(asked, response);
    else if (pathname === "/api/runs") sendJson(response, 200, { runs: this.#inWork() });
    else if (run !== undefined && cancel !== undefined) this.#cancel(run, response);
    else if (run !== undefined) sendJson(response, 200, run);
    else response.writeHead(404).end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]();
  }

  #start({ body }: Asked, response: ServerResponse): void {
    const scope = this.used >= 50 ? "free-day" : this.#inWork().length > 0 ? "org" : undefined;
    if (scope !== undefined) {
      sendJson(response, 429, { error: { type: "too-many-runs", message: "no", scope } });
      return;
    }
    const { pipeline } = JSON.parse(body);
    this.used += 1;
    const at = new Date(this.now()).toISOString();
    const run = runOnWire({
      "run-id": `run_${this.runs.length}`,
      pipeline,
      actor: this.me,
      "created-at": at,
    });
    this.#put(run);
    sendJson(response, 201, run);
    this.#put({ ...run, status: "succeeded", "stopped-at": at });
  }

  #cancel(run: WireRun, response: ServerResponse): void {
    sendJson(response, 200, { "run-id": run["run-id"], status: "cancelling" });
    this.#put({ ...run, status: "cancelled", "stopped-at": new Date(this.now()).toISOString() });
  }

  #put(run: WireRun): void {
    const position = this.runs.findIndex((one) => one["run-id"] === run["run-id"]);
    if (position < 0) this.runs.push(run);
    else this.runs[position] = run;
    for (const stream of this.#streams) {
      stream.write(eventOf("org", this.#org()));
      stream.write(eventOf("run", run));
    }
  }

  #open(response: ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(eventOf("org", this.#org()));
    for (const run of this.#inWork()) response.write(eventOf("run", run));
    this.#streams.add(response);
    response.once("close", () => this.#streams.delete(response));
  }

  #inWork(): WireRun[] {
    return this.runs.filter((run) => run["stopped-at"] === undefined);
  }

  #org(): Record<string, unknown> {
    return { ...orgOnWire, usage: { "runs-today": this.used }, actor: this.me };
  }
}

function eventOf(name: string, body: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(body)}\n\n`;
}
