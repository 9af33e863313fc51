import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { projectRoot } from "./projectRoot.ts";

/**
 * The rooms of `src`, each above those it may import from. `npm run check` fails on an import that leads up, and on one
 * between the faces, except that a task of the editor runs the tool's own `run` in its terminal.
 */
const rooms = [
  "contract",
  "text",
  "pipeline",
  "project",
  "machine",
  "runner",
  "client",
  "service",
  "team",
  "cli",
  "extension",
];
const faces = ["cli", "extension"];

interface Import {
  readonly from: string;
  readonly to: string;
}

const files = globSync("**/*.ts", { cwd: join(projectRoot, "src") });
const lines = files.map(
  (file) => readFileSync(join(projectRoot, "src", file), "utf8").split("\n").length - 1,
);
const imports = files.flatMap((file) =>
  [
    ...readFileSync(join(projectRoot, "src", file), "utf8").matchAll(
      /(?:from|import|import\()\s*"(\.[^"]+)"/g,
    ),
  ].map(([, path = ""]): Import => ({ from: file, to: join(dirname(file), path) })),
);

function roomOf(file: string): number {
  return rooms.indexOf(file.split(/[/\\]/, 1)[0] ?? "");
}

function isTask(file: string): boolean {
  return /^extension[/\\]tasks[/\\]/.test(file);
}

function leadsUp({ from, to }: Import): boolean {
  const [one = "", other = ""] = [rooms[roomOf(from)], rooms[roomOf(to)]];
  return (
    roomOf(to) > roomOf(from) ||
    roomOf(to) === -1 ||
    (one !== other && faces.includes(one) && faces.includes(other) && !isTask(from))
  );
}

const folders = new Set(imports.map(({ from, to }) => `${dirname(from)} ${dirname(to)}`));
const pairs = [...folders].filter((pair) => {
  const [one = "", other = ""] = pair.split(" ");
  return one < other && folders.has(`${other} ${one}`);
});
const up = imports.filter(leadsUp);
for (const { from, to } of up) console.error(`src/${from} imports src/${to}, which is above it`);
console.log(
  `src: ${files.length} files, ${lines.reduce((sum, count) => sum + count, 0)} lines, ${pairs.length} pairs of folders that import each other, ${up.length} imports that lead up`,
);
if (process.argv.includes("--pairs")) for (const pair of pairs) console.log(pair.replace(" ", " ↔ "));
if (up.length > 0) process.exitCode = 1;
