import { Deadline } from "../../client/deadline.ts";
import type { ServiceClient } from "../../client/http/serviceClient.ts";
import type { Org } from "../../contract/org.ts";

/** A courtesy that nobody should wait for. */
const answerWithinSeconds = 2;

/**
 * The org's numbers for a summary, asked for while the last run is still in work, so that they cost its end no time.
 * A run counts from its start, so it's in them.
 */
export class OrgNumbers implements Disposable {
  readonly #client: ServiceClient;
  readonly #over = new AbortController();
  #answer: Promise<Org | undefined> = Promise.resolve(undefined);

  constructor(client: ServiceClient) {
    this.#client = client;
  }

  ask(): void {
    this.#answer = this.#client.org(this.#over.signal).catch(() => undefined);
  }

  /** @returns undefined when they weren't asked for, or don't come in time. */
  async answer(): Promise<Org | undefined> {
    using deadline = new Deadline(this.#client.clock, this.#over.signal);
    deadline.arm(answerWithinSeconds);
    const late = new Promise<undefined>((resolve) =>
      deadline.signal.addEventListener("abort", () => resolve(undefined), { once: true }),
    );
    return await Promise.race([this.#answer, late]);
  }

  [Symbol.dispose](): void {
    this.#over.abort();
  }
}
