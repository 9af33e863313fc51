import { type Keychain, type KeychainDeps, KeychainFault, KeychainProgram } from "./keychain.ts";

const answerSeconds = 60;
/** `security -i` reads lines of 4096 bytes, and would take the rest of a longer one for a command. */
const longestLine = 4000;
const noSuchItem = 44;

/** The macOS keychain, by `security`. A key goes to it on standard input, since everyone can list arguments. */
export function macKeychain(deps: KeychainDeps): Keychain {
  const program = new KeychainProgram("security", answerSeconds, deps);
  const item = (account: string) => ["-s", "pipeline-runs", "-a", account];

  const find = async (account: string, signal: AbortSignal, secret = "") => {
    const answer = await program.ask({ args: ["find-generic-password", ...item(account), "-w"] }, signal);
    if (answer.exitCode === 0) return Buffer.from(answer.stdout.trim(), "base64").toString("utf8");
    if (answer.exitCode === noSuchItem) return undefined;
    throw program.fault(answer, secret);
  };

  const forget = async (account: string, signal: AbortSignal) => {
    const answer = await program.ask({ args: ["delete-generic-password", ...item(account)] }, signal);
    if (answer.exitCode !== 0 && answer.exitCode !== noSuchItem) throw program.fault(answer);
  };

  return {
    name: "the macOS keychain",
    async keep(account, apiKey, signal) {
      // In Base64 it has no character that means something to `security`.
      const encoded = Buffer.from(apiKey).toString("base64");
      const words = [...item(account), "-l", `Pipeline Runs: ${account}`, "-w", encoded];
      const line = `add-generic-password -U ${words.map(quoted).join(" ")}\n`;
      if (line.length > longestLine) throw new KeychainFault("security: the key is too long for it.");
      const answer = await program.ask({ args: ["-i"], input: line }, signal);
      // Its exit code is not always that of the line.
      if ((await find(account, signal, encoded)) !== apiKey) {
        await forget(account, signal);
        throw program.fault(answer, encoded);
      }
      return { keptIn: "keychain" };
    },
    find: (account, _, signal) => find(account, signal),
    forget,
  };
}

/** A word of a line for `security -i`, as its parser reads quotes. */
function quoted(word: string): string {
  return `"${word.replace(/["\\]/g, "\\$&")}"`;
}
