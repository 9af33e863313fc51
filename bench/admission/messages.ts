/** What the benchmark asks of its three kinds of processes, over the channel that it has to each. */

/** Asked of a server: what it has taken up so far. */
export interface Usage {
  /** Of all its threads, since it began. */
  readonly processorMilliseconds: number;
  /** Resident, after its garbage was collected, and the most that it ever was. */
  readonly memoryBytes: number;
  readonly mostMemoryBytes: number;
}

/** Told by a server once, when it answers. */
export interface Serving {
  readonly url: string;
}

/** Asked of the load: one turn against one server. */
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

/** What came of a turn. */
export interface Answered {
  readonly requests: number;
  readonly seconds: number;
  readonly medianMilliseconds: number;
  readonly p99Milliseconds: number;
}
