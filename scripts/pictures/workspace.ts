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
    run: [sh, tests/run.sh]
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
    run: [sh, tests/count.sh]
`;
const deploy = `time-limit: 2m
resources:
  shell: { type: cli }
steps:
  - name: staging
    use: shell
    run: sleep 12 && echo deployed
`;
// Programs of the shell, since a log says which Node.js on which path a step had.
const runTests = `green() { printf '  \\033[32m%s\\033[0m%s\\n' "$1" "$2"; }
printf '\\033[1mThe shop\\033[0m\\n'
for name in 'shows every lamp' 'adds a lamp to the basket' 'takes it out again'; do green ✔ " $name"; done
printf '  \\033[31m✘ counts the lamps of an order\\033[0m\\n'
printf '\\n  \\033[31mexpected 3, got 2\\033[0m\\n'
printf '\\033[2m      at src/basket.mjs:4:10\\033[0m\\n'
printf '\\n  \\033[32m3 passing\\033[0m \\033[2m(41 ms)\\033[0m\\n  \\033[31m1 failing\\033[0m\\n'
exit 1
`;
const countLamps = `lamps=0
while sleep 2; do lamps=$((lamps + 12)); echo "$lamps lamps counted"; done
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
    "tests/run.sh": runTests,
    "tests/count.sh": countLamps,
    "src/basket.mjs": basket,
  };
  for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
  return { folder, [Symbol.asyncDispose]: () => work[Symbol.asyncDispose]() };
}
