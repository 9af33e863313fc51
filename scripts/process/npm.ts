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
