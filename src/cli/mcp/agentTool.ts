import {
  type CallToolResult,
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
  type ToolAnnotations,
} from "@modelcontextprotocol/server";
import * as z from "zod/mini";
import { Deadline, DeadlinePassed } from "../../client/service/deadline.ts";
import { describeError, PipelineError } from "../../contract/errors.ts";
import { agentName } from "../../contract/run.ts";
import { fromWire } from "../../contract/wire.ts";
import { wireSchema } from "../../contract/wireSchema.ts";
import { anySignal } from "../../machine/anySignal.ts";
import type { Tool } from "../tool.ts";
import type { AgentSession } from "./agentSession.ts";
import { aroundFacts, type QuotaPart, type ToolOutcome, toolResult, withoutJsonTexts } from "./results.ts";

/** One call of a tool. */
export interface Call {
  readonly session: AgentSession;
  /** The command-line tool, whose signal is this call's. */
  readonly tool: Tool;
  /** The name that the agent gives itself. */
  readonly agent: string;
  /** Aborted when the agent cancels the call, when the call takes too long, and when the server ends. */
  readonly signal: AbortSignal;
  /** Reports progress to an agent that asked for it. @param total the greatest value of `done`. */
  progress(done: number, total: number, message: string): Promise<void>;
}

interface AgentTool<Input, Shape extends z.core.$ZodLooseShape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: Required<Omit<ToolAnnotations, "title">>;
  readonly input: z.ZodMiniType<Input>;
  /** The fields of a result besides the quota. */
  readonly facts: z.ZodMiniObject<Shape>;
  /** How long `act` may take; by default {@link callSeconds}. */
  readonly seconds?: number;
  act(input: Input, call: Call): Promise<ToolOutcome<object>>;
}

/**
 * How long a call may take, and the quota after it. Clients give up after 60 s, and the agent would then ask again without
 * knowing the outcome.
 */
const callSeconds = 42;
const quotaSeconds = 3;

/** For a tool that only reads, from the service that the person has chosen. */
export const onlyLooks = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

/** A tool as a server offers it, with field names in kebab-case. A failed call has none of the tool's facts. */
export function agentTool<Input, Shape extends z.core.$ZodLooseShape>({
  input,
  facts,
  seconds = callSeconds,
  act,
  ...told
}: AgentTool<Input, Shape>) {
  return {
    name: told.name,
    listed: () => ({
      ...told,
      inputSchema: { ...wireSchema(input), type: "object" as const },
      outputSchema: { ...wireSchema(z.extend(z.partial(facts), aroundFacts)), type: "object" as const },
    }),
    async call(given: unknown, caller: Caller): Promise<CallToolResult> {
      const outcome = await within(seconds, caller, (call) => {
        const read = fromWire(input, withoutJsonTexts(given));
        if (read.kind === "valid") return act(read.value, call);
        throw new PipelineError("invalid-request", `Invalid arguments for ${told.name}: ${read.problem}.`);
      }).catch((error: unknown) => ({ kind: "failed", error }) as const);
      return toolResult(outcome, await quotaPart(outcome, caller));
    },
  };
}

/** Makes a server offer tools to its agents. The library's own reply to wrong arguments would lack the quota. */
export function offerTools(
  { server }: McpServer,
  session: AgentSession,
  tools: readonly ReturnType<typeof agentTool>[],
): void {
  server.registerCapabilities({ tools: {} });
  server.setRequestHandler("tools/list", async () => ({ tools: tools.map((tool) => tool.listed()) }));
  server.setRequestHandler("tools/call", async ({ params: { name, arguments: given } }, context) => {
    const tool = tools.find((each) => each.name === name);
    if (tool === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${name}.`);
    }
    return tool.call(given, { session, context, agent: nameOf(server, context) });
  });
}

/** Who calls a tool, and how. */
interface Caller extends Pick<Call, "session" | "agent"> {
  readonly context: ServerContext;
}

/** A client names itself in its first request; since revision 2026-07-28, in each request. */
function nameOf(server: McpServer["server"], { mcpReq }: ServerContext): string {
  const envelope = envelopeSchema.safeParse(mcpReq.envelope);
  const info = envelope.success ? envelope.data[clientInfo] : server.getClientVersion();
  return agentName(info?.name ?? "") ?? "unnamed";
}

const clientInfo = "io.modelcontextprotocol/clientInfo";
const envelopeSchema = z.object({ [clientInfo]: z.object({ name: z.string() }) });

async function quotaPart(outcome: ToolOutcome<object>, caller: Caller): Promise<QuotaPart> {
  // Reading the quota would fail too. Not so after a refused key: a restarted service has a new one.
  const fault = outcome.kind === "failed" ? outcome.error : undefined;
  if (fault instanceof PipelineError && fault.type === "out-of-reach") {
    return { quotaProblem: describeError(fault) };
  }
  if (outcome.kind !== "failed" && outcome.quota !== undefined) return { quota: outcome.quota };
  return within(quotaSeconds, caller, async ({ session, signal }) => {
    const { quota } = await session.look(signal);
    return { quota };
  }).catch((error: unknown) => ({ quotaProblem: describeError(error) }));
}

/** @throws PipelineError `out-of-reach` when the time is over; what `act` throws. */
async function within<T>(
  seconds: number,
  { session, context, agent }: Caller,
  act: (call: Call) => Promise<T>,
): Promise<T> {
  using deadline = new Deadline(session.clock, anySignal([context.mcpReq.signal, session.ended]), seconds);
  const { signal } = deadline;
  const progress: Call["progress"] = async (done, total, message) => {
    const { progressToken } = context.mcpReq._meta ?? {};
    if (progressToken === undefined) return;
    const params = { progressToken, progress: done, total, message };
    // Ignored: the client has left, which ends the call.
    await context.mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
  try {
    return await act({ session, agent, tool: session.toolFor(signal), signal, progress });
  } catch (error) {
    if (!(error instanceof DeadlinePassed)) throw error;
    throw new PipelineError("out-of-reach", `The service didn't answer within ${error.seconds} s.`, {
      cause: error,
    });
  }
}
