import type { Readable } from "node:stream";
import * as z from "zod/mini";
import { type Pipeline, pipelineSchema } from "../../pipeline/pipeline.ts";

/**
 * What the service and a runner's process say to each other, a JSON value a line: one job down, then messages up. The
 * pipe that brought the job stays open as the run's lifeline: its end tells the runner to end the run.
 */
export const jobSchema = z.object({
  runId: z.string().check(z.regex(/^[A-Za-z0-9_-]+$/)),
  /** The project's folder, absolute. */
  root: z.string(),
  pipeline: pipelineSchema,
  /** Where what the steps keep is put, absolute; made when there is something to put there. */
  artifactsFolder: z.string(),
  /** From SIGTERM to SIGKILL when the run's processes are ended. */
  graceMilliseconds: z.number().check(z.nonnegative()),
  /** The folder of the cgroup that the runner has to enter before anything else; left out where there is none. */
  cgroup: z.optional(z.string()),
});

const index = z.int().check(z.nonnegative());
const outcome = z.enum(["succeeded", "failed"]);

/** What a step's program wrote, or `note`: what the runner says of the step. */
const outputStreams = ["stdout", "stderr", "note"] as const;
export type OutputStream = (typeof outputStreams)[number];

export const messageSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("step-started"), index, at: z.string() }),
  /** A step's program began; its id is also its process group's. */
  z.object({ kind: z.literal("spawned"), pid: z.int().check(z.positive()) }),
  /** No process of that group is left, so that its id may be given to a stranger. */
  z.object({ kind: z.literal("vacated"), pid: z.int().check(z.positive()) }),
  z.object({
    kind: z.literal("step-stopped"),
    index,
    at: z.string(),
    status: outcome,
    message: z.optional(z.string()),
  }),
  /** A piece of a step's log, masked. Pieces of one stream joined are the output as it was. */
  z.object({
    kind: z.literal("output"),
    index,
    at: z.string(),
    stream: z.enum(outputStreams),
    text: z.string(),
  }),
  /** Something that a step keeps, which lies whole in the run's artifacts' folder as `file`. */
  z.object({
    kind: z.literal("artifact"),
    index,
    at: z.string(),
    name: z.string(),
    file: z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/)),
    mediaType: z.string(),
    bytes: z.int().check(z.nonnegative()),
  }),
  /** The run's outcome is certain. What its steps left running in the background is ended after this. */
  z.object({ kind: z.literal("finished"), outcome, message: z.optional(z.string()) }),
]);

export type Job = Readonly<Omit<z.infer<typeof jobSchema>, "pipeline">> & { readonly pipeline: Pipeline };
export type Message = z.infer<typeof messageSchema>;
export type StepOutput = Extract<Message, { kind: "output" }>;
export type SavedArtifact = Extract<Message, { kind: "artifact" }>;

/**
 * Reads a text line by line. A line ends with `\n` alone: `node:readline` would end one at U+2028 and U+2029 as well,
 * which JSON leaves as they are. What has no end yet when the text is over is dropped.
 */
export function readLines(input: Readable, read: (line: string) => void): void {
  const begun: string[] = [];
  input.setEncoding("utf8").on("data", (piece: string) => {
    const [first = "", ...others] = piece.split("\n");
    begun.push(first);
    for (const next of others) {
      read(begun.splice(0).join(""));
      begun.push(next);
    }
  });
}
