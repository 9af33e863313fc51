declare const PIPELINE_RUNS_VERSION: string | undefined;

/** The version of this product, as the build has put it in; undefined where it runs from its sources. */
export const ownVersion: string | undefined =
  typeof PIPELINE_RUNS_VERSION === "string" ? PIPELINE_RUNS_VERSION : undefined;
