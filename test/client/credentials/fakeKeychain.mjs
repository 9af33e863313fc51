// Stands for `secret-tool`, `security` or `powershell.exe`: keeps secrets in a file beside it, and notes how it was called.
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [folder, program, ...args] = process.argv.slice(2);
const moodFile = join(folder, "mood");
const mood = existsSync(moodFile) ? readFileSync(moodFile, "utf8") : "works";
const secretsFile = join(folder, "secrets.json");
const secrets = existsSync(secretsFile) ? JSON.parse(readFileSync(secretsFile, "utf8")) : {};
const input = readFileSync(0, "utf8");
appendFileSync(
  join(folder, "calls"),
  `${JSON.stringify({ pid: process.pid, program, args, input, env: process.env, processes: processes() })}\n`,
);
if (mood === "hangs") setInterval(() => undefined, 1000);
else if (mood === "refuses") fail(1, `the keyring says no to ${input}`);
else if (program === "secret-tool") secretTool();
else if (program === "security") security();
else powershell();

function keep(account, secret) {
  if (mood !== "forgets") secrets[account] = secret;
  writeFileSync(secretsFile, JSON.stringify(secrets));
}

function secretTool() {
  const [verb, ...rest] = args.filter((arg) => !arg.startsWith("--"));
  const [, service, , account] = rest;
  if (service !== "pipeline-runs") fail(2, "usage: secret-tool");
  if (verb === "store") keep(account, input);
  else if (secrets[account] === undefined) process.exitCode = 1;
  else if (verb === "lookup") process.stdout.write(secrets[account]);
  else if (mood === "holds") fail(1, "Cannot get secret of a locked object");
  else remove(account);
}

function security() {
  const words =
    args[0] === "-i"
      ? input
          .trim()
          .match(/"(?:[^"\\]|\\.)*"|\S+/g)
          .map(unquoted)
      : args;
  const account = words[words.indexOf("-a") + 1];
  if (words[0] === "add-generic-password") keep(account, words[words.indexOf("-w") + 1]);
  else if (secrets[account] === undefined) fail(44, "The specified item could not be found in the keychain.");
  else if (words[0] === "find-generic-password") process.stdout.write(`${secrets[account]}\n`);
  else remove(account);
}

function powershell() {
  const [secret, account] = input.split("\n");
  const seal = Buffer.from(`sealed for ${account}:`);
  const bytes = Buffer.from(secret, "base64");
  if (args.at(-1).includes("::Protect("))
    process.stdout.write(Buffer.concat([seal, bytes.reverse()]).toString("base64"));
  else if (!bytes.subarray(0, seal.length).equals(seal)) fail(1, "Exception calling Unprotect");
  else process.stdout.write(bytes.subarray(seal.length).reverse().toString("base64"));
}

function remove(account) {
  delete secrets[account];
  writeFileSync(secretsFile, JSON.stringify(secrets));
}

function unquoted(word) {
  return word.startsWith('"') ? word.slice(1, -1).replace(/\\(.)/g, "$1") : word;
}

function fail(exitCode, message) {
  process.stderr.write(`${program}: ${message}\n`);
  process.exit(exitCode);
}

/** What every process of this machine shows of itself, where that can be read. */
function processes() {
  if (process.platform !== "linux") return "";
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8");
      } catch {
        return "";
      }
    })
    .join("\n");
}
