import * as z from "zod/mini";
import { lenientBut } from "./fields.ts";
import { declaredInputSchema } from "./inputs.ts";

/** An entry of `GET /api/pipelines`. `problem` says why a broken file can't run: one line per problem, with its position. */
const servedEntrySchema = z.object({
  name: z.string(),
  project: z.string(),
  path: z.string(),
  resourceTypes: z.array(z.string()),
  /** The inputs that the file declares; empty for a broken file. */
  inputs: z.array(declaredInputSchema),
  /** For `pipeline run --tag`; empty for a broken file. */
  tags: z.array(z.string()),
  problem: z.optional(z.string()),
});

/** The same as a client reads it: a start needs only the name. */
const pipelineEntrySchema = lenientBut(servedEntrySchema, ["name"]);

/** `GET /api/pipelines` as this project's service answers it, and as a client reads it. */
export const servedPipelineListSchema = z.object({ pipelines: z.array(servedEntrySchema) });
export const pipelineListSchema = z.object({ pipelines: z.array(pipelineEntrySchema) });

/** A project's name goes into tables, so it has no control characters. */
export const projectNameSchema = z
  .string()
  .check(z.minLength(1), z.maxLength(200), z.regex(/^\P{Cc}*$/u, "it has control characters"));

/** `PUT /api/projects/{name}`: the body and the reply. `root` is an absolute folder. */
export const projectRequestSchema = z.strictObject({ root: z.string().check(z.minLength(1)) });
export const projectSchema = z.object({ name: z.string(), root: z.string() });
export const projectListSchema = z.object({ projects: z.array(projectSchema) });

export type ServedPipelineEntry = z.infer<typeof servedEntrySchema>;
export type PipelineEntry = z.infer<typeof pipelineEntrySchema>;
export type PipelineList = z.infer<typeof pipelineListSchema>;
export type Project = z.infer<typeof projectSchema>;
