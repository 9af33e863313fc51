// A program: runs the command in its arguments, and ends that command's whole process tree as soon as this program's
// standard input closes. Whoever started it holds the other end, so the tree dies with its starter in every case,
// a SIGKILL of the starter included. It exits only when the tree is gone.
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import { groupLives } from "./groupLives.ts";

const graceMilliseconds = 5000;
const afterKillMilliseconds = 3000;

const [command, ...commandArguments] = process.argv.slice(2);
if (command === undefined) throw new Error("leash: no command was given");

const tree = execa(command, commandArguments, {
  stdio: ["ignore", "inherit", "inherit"],
  killDescendants: true,
  forceKillAfterDelay: graceMilliseconds,
  reject: false,
});

const end = () => tree.kill("SIGTERM");
process.stdin.once("close", end).on("error", end).resume();
process.on("SIGTERM", end);
// A Ctrl-C in a terminal reaches this process too where there are no process groups; the starter decides what it means.
process.on("SIGINT", () => {});
process.on("SIGHUP", () => {});

const result = await tree;
if (result.code === "ENOENT") process.stderr.write(`${command} was not found\n`);
await endTheRest(tree.pid);
process.exit(result.exitCode ?? 1);

/** The command is gone; what it left behind in its process group goes too. */
async function endTheRest(group: number | undefined): Promise<void> {
  if (group === undefined || process.platform === "win32") return;
  const deadline = Date.now() + afterKillMilliseconds;
  while (groupLives(group) && Date.now() < deadline) {
    kill(group);
    await sleep(10);
  }
}

function kill(group: number): void {
  try {
    process.kill(-group, "SIGKILL");
  } catch {
    // It ended meanwhile.
  }
}
