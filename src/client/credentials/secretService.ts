import type { Environment } from "../starterEnvironment.ts";
import { type Keychain, type KeychainDeps, KeychainFault, KeychainProgram } from "./keychain.ts";

/** Without a screen nobody can be asked to unlock it, and one that would ask says nothing at all. */
const unseenSeconds = 5;
const seenSeconds = 60;

/** The Secret Service of a Linux desktop (GNOME Keyring, KWallet, KeePassXC), by libsecret's `secret-tool`. */
export function secretService(deps: KeychainDeps): Keychain {
  const program = new KeychainProgram("secret-tool", hasScreen(deps.env) ? seenSeconds : unseenSeconds, deps);
  const attributes = (account: string) => ["service", "pipeline-runs", "account", account];

  const find = async (account: string, signal: AbortSignal, secret = "") => {
    const answer = await program.ask({ args: ["lookup", ...attributes(account)] }, signal);
    if (answer.exitCode === 0) return answer.stdout;
    // It says nothing at all when there is none of that name.
    if (answer.exitCode === 1 && answer.stderr === "") return undefined;
    throw program.fault(answer, secret);
  };

  const forget = async (account: string, signal: AbortSignal) => {
    const answer = await program.ask({ args: ["clear", ...attributes(account)] }, signal);
    if (answer.exitCode !== 0 && answer.stderr !== "") throw program.fault(answer);
  };

  return {
    name: "the keyring of this desktop (Secret Service)",
    async keep(account, apiKey, signal) {
      const label = `--label=Pipeline Runs: ${account}`;
      const answer = await program.ask(
        { args: ["store", label, ...attributes(account)], input: apiKey },
        signal,
      );
      if (answer.exitCode !== 0) throw program.fault(answer, apiKey);
      if ((await find(account, signal, apiKey)) !== apiKey) {
        await forget(account, signal);
        throw new KeychainFault("secret-tool: what was stored can't be read again.");
      }
      return { keptIn: "keychain" };
    },
    find: (account, _, signal) => find(account, signal),
    forget,
  };
}

function hasScreen(env: Environment): boolean {
  return [env["DISPLAY"], env["WAYLAND_DISPLAY"]].some((name) => name !== undefined && name !== "");
}
