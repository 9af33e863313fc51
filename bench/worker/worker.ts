import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import * as z from "zod/mini";

/** What one process may ask of another: the names, with what each takes and gives. All of it is JSON. */
// biome-ignore lint/suspicious/noExplicitAny: what a call takes is for each to say
export type Calls = Readonly<Record<string, (...given: any[]) => unknown>>;

const replySchema = z.union([
  z.object({ id: z.number(), kind: z.literal("done"), value: z.optional(z.any()) }),
  z.object({ id: z.number(), kind: z.literal("failed"), why: z.string() }),
]);

/** A program of a benchmark in a process of its own, which answers calls (`answerCalls`). It ends with its disposal. */
export class Worker<Offered extends Calls> implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #calls = 0;
  #ended: Error | undefined;

  /** @param program the path of its source. @param args its command line. @param errorFile takes its standard error. */
  constructor(program: string, args: readonly string[], errorFile?: string) {
    const standardError = errorFile === undefined ? "inherit" : openSync(errorFile, "a", 0o600);
    this.#child = fork(program, args, {
      execArgv: ["--expose-gc"],
      stdio: ["ignore", "ignore", standardError, "ipc"],
    });
    if (typeof standardError === "number") closeSync(standardError);
    this.#child.on("message", (message) => this.#take(replySchema.parse(message)));
    this.#child.once("exit", (code, signal) =>
      this.#left(new Error(`${program} ended with ${signal ?? code}`)),
    );
    this.#child.once("error", (error) => this.#left(error));
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error("the worker was not started");
    return this.#child.pid;
  }

  /** @throws Error when the call fails over there, or that process ends. */
  call<Name extends keyof Offered & string>(
    name: Name,
    ...given: Parameters<Offered[Name]>
  ): Promise<Awaited<ReturnType<Offered[Name]>>> {
    const answer = Promise.withResolvers<Awaited<ReturnType<Offered[Name]>>>();
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    this.#calls += 1;
    this.#waiting.set(this.#calls, {
      promise: answer.promise,
      resolve: (value: unknown) => answer.resolve(z.parse(z.any(), value)),
      reject: answer.reject,
    });
    this.#child.send({ id: this.#calls, name, given });
    return answer.promise;
  }

  /** Lets it finish what it holds, as it does when its channel closes; ends it when that takes long. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ended !== undefined) return;
    const gone = once(this.#child, "exit");
    const kill = setTimeout(() => this.#child.kill("SIGKILL"), 5_000);
    if (this.#child.connected) this.#child.disconnect();
    await gone;
    clearTimeout(kill);
  }

  #take(reply: z.infer<typeof replySchema>): void {
    const answer = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.kind === "done") answer?.resolve(reply.value);
    else answer?.reject(new Error(reply.why));
  }

  #left(why: Error): void {
    this.#ended = why;
    for (const { reject } of this.#waiting.values()) reject(why);
    this.#waiting.clear();
  }
}
