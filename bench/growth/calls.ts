/** What is in a database before it is served. */
export interface Filling {
  /** Orgs, each with a key of its own. */
  readonly orgs: number;
  /** The ended runs of the first org, spread over three years up to today, and then those of each other one. */
  readonly runsOfFirst: number;
  readonly runsOfOthers: number;
}

export interface Filled {
  /** Of the first org. */
  readonly secret: string;
  /** Of a member of the org who has started none of its runs but a few long ago. */
  readonly keyOfFew: string;
  /** A run in the middle of the history. */
  readonly middle: string;
  readonly fillSeconds: number;
  readonly bytes: number;
}

/** How long one thing took, and for how long at a time it kept everybody else from being answered. */
export interface Held {
  readonly milliseconds: number;
  readonly longestMilliseconds: number;
  readonly runs: number;
}

export type GrowthCalls = {
  readonly fill: (filling: Filling) => Promise<Filled>;
  /** Begins to serve what has been filled, by another process. @returns the service's address. */
  readonly serve: () => Promise<string>;
  /** How many runs the first org may have at once: none is refused, or all. */
  readonly limit: (parallelRuns: number) => void;
  /** Removes the files of the runs that ended too long ago, as the service does each hour. */
  readonly sweep: () => Promise<Held>;
};
