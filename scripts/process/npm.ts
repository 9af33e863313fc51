import { Problem } from "../problem.ts";
import { projectRoot } from "../projectRoot.ts";
import { runProgram } from "./program.ts";

/**
 * The command that starts npm: the very npm that runs the present script where there is one, on this Node, so that
 * neither a shell nor another machine-wide npm comes between.
 */
export function npmCommand(env: NodeJS.ProcessEnv): readonly [command: string, ...leading: string[]] {
  const running = env["npm_execpath"];
  return running?.endsWith("npm-cli.js") === true ? [process.execPath, running] : ["npm"];
}

/** `env` without what npm sets for the script that it runs and for that script only. */
export function withoutScriptVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => !/^(npm_(lifecycle|package|command)|INIT_CWD$)/.test(name)),
  );
}

/**
 * Runs one of this project's npm scripts, quietly.
 * @throws Problem with everything that it wrote, when it fails.
 */
export async function runNpmScript(name: string, signal: AbortSignal): Promise<void> {
  const [npm, ...leading] = npmCommand(process.env);
  const words = [...leading, "run", "--silent", name];
  const { exitCode, output } = await runProgram(npm, words, { cwd: projectRoot }, signal);
  if (exitCode === 0) return;
  throw new Problem(`"npm run ${name}" failed.`, `It wrote:\n${output.trimEnd() || "(nothing)"}`);
}
