import type { McpServer, ServerContext, ToolAnnotations } from "@modelcontextprotocol/server";
import * as z from "zod/mini";
import { Deadline, DeadlinePassed } from "../../client/service/deadline.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import { agentName } from "../../contract/run.ts";
import type { Parsed } from "../../contract/wire.ts";
import { anySignal } from "../../machine/anySignal.ts";
import type { Tool } from "../tool.ts";
import type { AgentSession } from "./agentSession.ts";
import { argumentsSchema, type QuotaPart, resultSchema, type ToolOutcome, toolResult } from "./results.ts";

/** One call of a tool. */
export interface Call {
  readonly session: AgentSession;
  /** The command-line tool, for this call alone. */
  readonly tool: Tool;
  /** The agent's name, as it calls itself. */
  readonly agent: string;
  /** Aborted when the agent cancels the call, when it takes too long, and when the server ends. */
  readonly signal: AbortSignal;
  /** Tells an agent that asked for it how far the call is. @param total as many as `done` can be. */
  progress(done: number, total: number, message: string): Promise<void>;
}

interface AgentTool<Input, Shape extends z.core.$ZodLooseShape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: Required<Omit<ToolAnnotations, "title">>;
  readonly input: z.ZodMiniType<Input>;
  /** What a result has beside the quota. */
  readonly facts: z.ZodMiniObject<Shape>;
  /** How long `act` may take; default: {@link callSeconds}. */
  readonly seconds?: number;
  act(input: Input, call: Call): Promise<ToolOutcome<object>>;
}

/**
 * How long a call may take, and the quota after it. Clients give up after 60 s, and the agent would ask again without knowing
 * what came of it.
 */
const callSeconds = 42;
const quotaSeconds = 3;

/** What a tool only looks at, on the service that the person has chosen. */
export const onlyLooks = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

/** @returns a function that offers the tool to the agents of a server. */
export function agentTool<Input, Shape extends z.core.$ZodLooseShape>(
  tool: AgentTool<Input, Shape>,
): (server: McpServer, session: AgentSession) => void {
  const { name, title, description, annotations, input, facts } = tool;
  const config = {
    title,
    description,
    annotations,
    inputSchema: argumentsSchema(input),
    outputSchema: resultSchema(facts),
  };
  return (server, session) => {
    server.registerTool(name, config, async (given: Parsed<Input>, context: ServerContext) => {
      const caller = { session, context, agent: nameOf(server, context) };
      const outcome = await within(tool.seconds ?? callSeconds, caller, (call) =>
        tool.act(validArguments(name, given), call),
      ).catch((error: unknown) => ({ kind: "failed", error }) as const);
      return toolResult(outcome, await quotaPart(outcome, caller));
    });
  };
}

/** @throws PipelineError `invalid-request`, saying what is wrong. */
function validArguments<Input>(tool: string, given: Parsed<Input>): Input {
  if (given.kind === "valid") return given.value;
  throw new PipelineError("invalid-request", `Invalid arguments for ${tool}: ${given.problem}.`);
}

/** Who calls a tool, and how. */
interface Caller extends Pick<Call, "session" | "agent"> {
  readonly context: ServerContext;
}

/** A client says who it is in its first request, since revision 2026-07-28 in each. */
function nameOf({ server }: McpServer, { mcpReq }: ServerContext): string {
  const envelope = envelopeSchema.safeParse(mcpReq.envelope);
  const info = envelope.success ? envelope.data[clientInfo] : server.getClientVersion();
  return agentName(info?.name ?? "") ?? "unnamed";
}

const clientInfo = "io.modelcontextprotocol/clientInfo";
const envelopeSchema = z.object({ [clientInfo]: z.object({ name: z.string() }) });

async function quotaPart(outcome: ToolOutcome<object>, caller: Caller): Promise<QuotaPart> {
  // It would only fail again. After a refused key it may not: a service that was restarted has another.
  if (outcome.kind === "failed" && isUnreached(outcome.error)) {
    return { quotaProblem: describeError(outcome.error) };
  }
  if (outcome.kind !== "failed" && outcome.quota !== undefined) return { quota: outcome.quota };
  return within(quotaSeconds, caller, async ({ session, signal }) => {
    const { quota } = await session.look(signal);
    return { quota };
  }).catch((error: unknown) => ({ quotaProblem: describeError(error) }));
}

function isUnreached(error: unknown): boolean {
  return error instanceof PipelineError && error.type === "out-of-reach";
}

/** @throws PipelineError `out-of-reach` when the time is over; what `act` throws. */
async function within<T>(
  seconds: number,
  { session, context, agent }: Caller,
  act: (call: Call) => Promise<T>,
): Promise<T> {
  using deadline = new Deadline(session.clock, anySignal([context.mcpReq.signal, session.ended]));
  deadline.arm(seconds);
  const { signal } = deadline;
  const progress: Call["progress"] = (done, total, message) => sendProgress(context, done, total, message);
  try {
    return await act({ session, agent, tool: session.toolFor(signal), signal, progress });
  } catch (error) {
    if (!(error instanceof DeadlinePassed)) throw error;
    throw new PipelineError("out-of-reach", `The service didn't answer within ${error.seconds} s.`, {
      cause: error,
    });
  }
}

async function sendProgress(
  { mcpReq }: ServerContext,
  progress: number,
  total: number,
  message: string,
): Promise<void> {
  const { progressToken } = mcpReq._meta ?? {};
  if (progressToken === undefined) return;
  const params = { progressToken, progress, total, message };
  // Ignored: the client has left, which ends the call.
  await mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
}
