import { parse } from "node:path";
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { AgentSession, type McpOptions } from "../../../src/cli/mcp/agentSession.ts";
import { offerTools } from "../../../src/cli/mcp/agentTool.ts";
import { getQuotaTool, waitForRunTool } from "../../../src/cli/mcp/readTools.ts";
import { startRunTool } from "../../../src/cli/mcp/startTools.ts";
import { Output } from "../../../src/cli/output/output.ts";
import type { ServiceClient } from "../../../src/client/service/client.ts";
import type { FakeClock } from "../../clock/fakeClock.ts";
import { Agent } from "./agent.ts";

const never = new AbortController().signal;
const out = { write: () => true };

/** An agent whose server is in this process, so that a test holds its clock. */
export async function agentAt(
  client: ServiceClient,
  clock: FakeClock,
  limits: Partial<McpOptions> = {},
): Promise<Agent> {
  const tool = {
    output: new Output({ out, err: out, env: {}, flags: { json: false, quiet: true, color: false } }),
    env: {},
    // Never in a project, so that no file is read.
    folder: parse(process.cwd()).root,
    interrupted: never,
    leaving: never,
    unread: never,
    programs: "",
    connect: async () => client,
  };
  const options = { project: "lamps", ...limits };
  const session = new AgentSession(tool, options, clock);
  const server = new McpServer({ name: "held", version: "1" });
  offerTools(server, session, [getQuotaTool, startRunTool, waitForRunTool]);
  const [near, far] = InMemoryTransport.createLinkedPair();
  await server.connect(far);
  const agent = new Client({ name: "test-agent", version: "1" });
  await agent.connect(near);
  return new Agent(agent);
}
