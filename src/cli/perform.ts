import type { OutputFlags } from "./output.ts";
import type { CommandName } from "./outputs.ts";
import type { Tool } from "./tool.ts";

/** What one command does. @returns its exit code. */
export type Act = (tool: Tool) => Promise<number>;

/** Runs one command; it decides how errors are shown and what the exit code is. */
export type Perform = (command: CommandName, flags: OutputFlags, act: Act) => Promise<void>;
