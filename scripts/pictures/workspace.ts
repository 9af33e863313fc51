import { cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { TemporaryFolder } from "../../test/temporaryFolder.ts";
import { projectRoot } from "../projectRoot.ts";

/** A pipeline that fails as real ones do, in colours, and one that takes its time. */
const unitTests = `# What has to hold before anything goes to the shop's customers.
time-limit: 2m
resources:
  shell: { type: cli }
steps:
  - name: types
    use: shell
    run: echo "no errors in 128 files"
  - name: unit tests
    use: shell
    run: [node, tests/run.mjs]
  - name: package
    use: shell
    run: echo "lamp-shop.tgz"
`;
const nightly = `time-limit: 10m
resources:
  shell: { type: cli }
steps:
  - name: fetch the orders
    use: shell
    run: echo "212 orders"
  - name: count the lamps
    use: shell
    run: [node, tests/count.mjs]
`;
const deploy = `time-limit: 2m
resources:
  shell: { type: cli }
steps:
  - name: staging
    use: shell
    run: [node, tests/deploy.mjs]
`;
const runTests = `const green = (text) => \`\\u001b[32m\${text}\\u001b[0m\`;
const red = (text) => \`\\u001b[31m\${text}\\u001b[0m\`;
const dim = (text) => \`\\u001b[2m\${text}\\u001b[0m\`;
console.log("\\u001b[1mThe shop\\u001b[0m");
for (const name of ["shows every lamp", "adds a lamp to the basket", "takes it out again"]) console.log(\`  \${green("✔")} \${name}\`);
console.log(\`  \${red("✘ counts the lamps of an order")}\`);
console.log(\`\\n  \${red("expected 3, got 2")}\`);
console.log(dim("      at src/basket.mjs:4:10"));
console.log(\`\\n  \${green("3 passing")} \${dim("(41 ms)")}\\n  \${red("1 failing")}\`);
process.exit(1);
`;
const countLamps = `let lamps = 0;
setInterval(() => console.log(\`\${(lamps += 12)} lamps counted\`), 2000);
`;
const deployed = `setTimeout(() => console.log("deployed"), 12_000);
`;
const basket = `/** How many lamps there are in an order. */
export function lampsOf(order) {
  const lines = order.lines.filter(({ kind }) => kind === "lamp");
  return lines.length;
}
`;

/** The project that the pictures show: a copy of the samples with a little more in it. */
export async function lampShop() {
  const work = await TemporaryFolder.make("pipeline-runs-pictures");
  const folder = join(work.path, "lamp-shop");
  await cp(join(projectRoot, "samples"), folder, { recursive: true });
  for (const name of ["tests", "src"]) await mkdir(join(folder, name), { recursive: true });
  const files = {
    "pipelines/unit-tests.yaml": unitTests,
    "pipelines/nightly.yaml": nightly,
    "pipelines/deploy.yaml": deploy,
    "tests/deploy.mjs": deployed,
    "tests/run.mjs": runTests,
    "tests/count.mjs": countLamps,
    "src/basket.mjs": basket,
  };
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
  return { folder, [Symbol.asyncDispose]: () => work[Symbol.asyncDispose]() };
}
