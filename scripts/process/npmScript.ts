import { Problem } from "../problem.ts";
import { projectRoot } from "../projectRoot.ts";
import { runLeashed } from "./leashed.ts";
import { npmCommand } from "./npm.ts";

/**
 * Runs one of this project's npm scripts, quietly.
 * @throws Problem with everything that it wrote, when it fails.
 */
export async function runNpmScript(name: string, signal: AbortSignal): Promise<void> {
  const [npm, ...leading] = npmCommand(process.env);
  const { exitCode, output } = await runLeashed(
    npm,
    [...leading, "run", "--silent", name],
    { cwd: projectRoot },
    signal,
  );
  if (exitCode === 0) return;
  throw new Problem(`"npm run ${name}" failed.`, `It wrote:\n${output.trimEnd() || "(nothing)"}`);
}
