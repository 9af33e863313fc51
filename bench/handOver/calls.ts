/** What a server of this benchmark can be asked. Instants are of `sharedNow`. */
export type ServerCalls = {
  /** The address, and for each org a key that may start runs. */
  readonly open: (orgs: number) => Promise<{ readonly url: string; readonly keys: readonly string[] }>;
  /** Resolves when a start waits in the queue, of whichever org. */
  readonly someoneWaits: () => Promise<void>;
  /** Lets the processes of the org's run be gone, and says when they were. */
  readonly endRun: (org: number) => Promise<number>;
};

/** How a start comes to its slot. */
export type Way =
  /** One request by `node:http` and nothing around it, which is held. */
  | "bare"
  /** This project's client. */
  | "client"
  /** The same, with a service that holds no request. */
  | "client-unheld"
  /** A request every 3 s, as `gh run watch` makes. */
  | "every-3-s";

export interface Started {
  /** When the reply 201 had been read. */
  readonly at: number;
  readonly requests: number;
}

export type WaiterCalls = {
  readonly start: (way: Way, url: string, key: string) => Promise<Started>;
};
