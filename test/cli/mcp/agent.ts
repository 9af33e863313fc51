import { type CallToolResult, Client, type Progress } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import * as z from "zod/mini";
import type { Toolbox } from "../toolbox.ts";

export const revisions = ["2025-11-25", "2026-07-28"] as const;
type Revision = (typeof revisions)[number];

/** What the tests read of a result, whatever tool it is of. */
const valueSchema = z.looseObject({
  quota: z.optional(
    z.looseObject({
      "runs-today": z.number(),
      "starts-left": z.number(),
      next: z.string(),
      holders: z.optional(z.array(z.looseObject({ "run-id": z.string() }))),
    }),
  ),
  refusal: z.optional(
    z.looseObject({
      scope: z.string(),
      retryable: z.boolean(),
      next: z.string(),
      "retry-after-seconds": z.optional(z.number()),
      "resets-at": z.optional(z.string()),
      holder: z.optional(z.looseObject({ "run-id": z.string() })),
    }),
  ),
  run: z.optional(z.looseObject({ "run-id": z.string(), status: z.string() })),
});

/** An agent by the official client, with a server of its own: `pipeline mcp` in the toolbox's project. */
export class Agent implements AsyncDisposable {
  readonly client: Client;
  readonly #transport: StdioClientTransport | undefined;
  #tools: Promise<unknown> | undefined;

  /** @param args of `pipeline mcp`. */
  static async of(
    box: Toolbox,
    revision: Revision = "2026-07-28",
    args: readonly string[] = [],
    { name = "test-agent", env = {} }: { name?: string; env?: Record<string, string> } = {},
  ): Promise<Agent> {
    const defined = Object.entries({ ...process.env, ...box.env, ...env }).filter(
      (pair): pair is [string, string] => pair[1] !== undefined,
    );
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [box.path, "mcp", ...args],
      cwd: box.project,
      env: Object.fromEntries(defined),
      stderr: "inherit",
    });
    const mode = revision === "2025-11-25" ? "legacy" : ({ pin: revision } as const);
    const client = new Client({ name, version: "1" }, { versionNegotiation: { mode } });
    await client.connect(transport);
    return new Agent(client, transport);
  }

  /** @param transport the way to a server of its own. */
  constructor(client: Client, transport?: StdioClientTransport) {
    this.client = client;
    this.#transport = transport;
  }

  /** The server's process. */
  get pid(): number | null {
    return this.#transport?.pid ?? null;
  }

  /** Calls a tool. The client checks the result against the tool's output schema. */
  async call(name: string, args: Record<string, unknown> = {}, onprogress?: (progress: Progress) => void) {
    // Without them, the client doesn't know the output schemas. It compiles them each time.
    this.#tools ??= this.client.listTools();
    await this.#tools;
    const result = await this.client.callTool(
      { name, arguments: args },
      onprogress === undefined ? {} : { onprogress },
    );
    return resultOf(result);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
  }
}

/** A tool's result as the tests read it. */
export function resultOf({ content, structuredContent = {}, isError = false }: CallToolResult) {
  const text = content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  return { value: valueSchema.parse(structuredContent), text, isError };
}
