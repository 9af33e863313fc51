/** What one of the servers has used. */
export interface Usage {
  /** Of all its threads, since it began. */
  readonly processorMilliseconds: number;
  /** Resident, after garbage collection, and the highest value so far. */
  readonly memoryBytes: number;
  readonly mostMemoryBytes: number;
}

/** What a server of this benchmark can be asked. */
export type ServerCalls = {
  /** Its address. */
  readonly open: () => Promise<string>;
  readonly usage: () => Usage;
};

/** One turn of the load against one server. */
export interface Turn {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
  readonly path: "/api/org" | "/api/runs";
  /** Sent in turn, so that many orgs take part. */
  readonly keys: readonly string[];
  /** The pipeline to start; undefined: a GET. */
  readonly pipeline: string | undefined;
  /** The one status that each reply has to have. */
  readonly status: number;
}

/** The result of a turn. */
export interface TurnResult {
  readonly requests: number;
  readonly seconds: number;
  readonly medianMilliseconds: number;
  readonly p99Milliseconds: number;
}

export type LoadCalls = {
  /** @throws Error when a single reply has another status than it should. */
  readonly run: (turn: Turn) => Promise<TurnResult>;
};

/** What this process has used so far. */
export function ownUsage(): Usage {
  globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  return {
    processorMilliseconds: (user + system) / 1000,
    memoryBytes: process.memoryUsage.rss(),
    mostMemoryBytes: process.resourceUsage().maxRSS * 1024,
  };
}
