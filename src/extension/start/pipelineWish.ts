/** What a person wants to be run. */
export interface PipelineWish {
  readonly pipeline: string;
  readonly project: string | undefined;
  /** The project's folder, where it is known. */
  readonly root: string | undefined;
  /** What the pipeline file says when left out. */
  readonly timeLimitSeconds?: number | undefined;
}
