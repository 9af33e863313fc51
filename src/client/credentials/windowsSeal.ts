import { type Keychain, type KeychainDeps, KeychainFault, KeychainProgram } from "./keychain.ts";

/** PowerShell takes its time to start on a busy machine. */
const answerSeconds = 60;

/**
 * The data protection of Windows (DPAPI), by the PowerShell that every Windows has: what it seals, only this account
 * on this machine can open, and only for the same name. The sealed key lies in the login's file.
 */
export function windowsSeal(deps: KeychainDeps): Keychain {
  const program = new KeychainProgram("powershell.exe", answerSeconds, deps);

  /** Both go in on standard input, in Base64, and what comes out is Base64 too, whatever the console's code page is. */
  const turn = async (how: "Protect" | "Unprotect", account: string, bytes: Buffer, signal: AbortSignal) => {
    const input = `${bytes.toString("base64")}\n${Buffer.from(account).toString("base64")}\n`;
    const args = ["-NoProfile", "-NonInteractive", "-Command", script(how)];
    const answer = await program.ask({ args, input }, signal);
    const encoded = answer.stdout.trim();
    if (answer.exitCode !== 0 || encoded === "") throw program.fault(answer, bytes.toString("base64"));
    return Buffer.from(encoded, "base64");
  };

  const open = async (account: string, sealed: string, signal: AbortSignal) =>
    (await turn("Unprotect", account, Buffer.from(sealed, "base64"), signal)).toString("utf8");

  return {
    name: "a file that only this Windows account can open (DPAPI)",
    async keep(account, apiKey, signal) {
      const sealed = (await turn("Protect", account, Buffer.from(apiKey), signal)).toString("base64");
      if ((await open(account, sealed, signal)) !== apiKey) {
        throw new KeychainFault("powershell.exe: what was sealed can't be opened again.");
      }
      return { keptIn: "sealed-file", sealed };
    },
    find: async (account, kept, signal) =>
      kept.keptIn === "sealed-file" ? open(account, kept.sealed, signal) : undefined,
    // The login's file is all there is.
    forget: async () => undefined,
  };
}

/** No double quote in it, which each layer between here and PowerShell would read in its own way. */
function script(how: "Protect" | "Unprotect"): string {
  return [
    "$ErrorActionPreference = 'Stop'",
    "Add-Type -AssemblyName System.Security",
    "$bytes = [Convert]::FromBase64String([Console]::In.ReadLine())",
    "$name = [Convert]::FromBase64String([Console]::In.ReadLine())",
    `$turned = [Security.Cryptography.ProtectedData]::${how}($bytes, $name, 'CurrentUser')`,
    "[Console]::Out.Write([Convert]::ToBase64String($turned))",
  ].join("; ");
}
