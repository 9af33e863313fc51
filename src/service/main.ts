import { join } from "node:path";
import { ownVersion } from "../client/embedded/ownVersion.ts";
import { serveMachine } from "./serveMachine.ts";

await serveMachine({ version: ownVersion, runnerPath: join(import.meta.dirname, "runner.js") });
