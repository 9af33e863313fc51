import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, posix } from "node:path";

export const noticesFile = "THIRD-PARTY-NOTICES.txt";

/**
 * What a bundled package may be under. Each asks for no more than its text beside the programs; one that asks that the
 * programs be given away under it, too, would have to be decided on by a person.
 */
const allowed = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
]);

/**
 * Writes the notices of all packages that are bundled: name, version, licence, and the texts that the packages carry.
 *
 * @param folders the packages' folders.
 * @returns the files that were made.
 * @throws Error for a licence that isn't allowed, and for a package without a text.
 */
export async function buildNotices(outdir, folders) {
  const packages = await Promise.all([...folders].map(readPackage));
  packages.sort((one, other) => compare(one.name, other.name) || compare(one.version, other.version));
  const list = packages.map(({ name, version, licence }) => `${name} ${version} (${licence})`);
  const sections = packages.map(
    ({ texts }, at) => `${"=".repeat(80)}\n${list[at]}\n${"=".repeat(80)}\n\n${texts.join("\n\n")}\n`,
  );
  const path = posix.join(outdir, noticesFile);
  await writeFile(path, `${head}\n\n${list.join("\n")}\n\n${sections.join("\n")}`);
  return [path];
}

const head = `Pipeline Runs holds parts of these packages of others, each under its own licence, which follows below. What stands
inside playwright-core is listed in vendor/playwright-core beside this file, with its licences.`;

async function readPackage(folder) {
  const { name, version, license, author } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  if (typeof license !== "string" || !allowed.has(license)) {
    throw new Error(
      `${name} ${version} is bundled, and its licence isn't one of ${[...allowed].join(", ")}: ${license}`,
    );
  }
  const files = (await readdir(folder)).filter((file) =>
    /^(licen[cs]e|notice|copying)(\.(md|txt))?$/i.test(file),
  );
  const found = await Promise.all(files.sort().map((file) => readFile(join(folder, file), "utf8")));
  const texts = found.length > 0 ? found : [await textWithoutFile({ folder, name, license, author })];
  return {
    name,
    version,
    licence: license,
    texts: texts.map((text) => text.replaceAll("\r\n", "\n").trim()),
  };
}

/** Some packages have it in their README, and one only names it. */
async function textWithoutFile({ folder, name, license, author }) {
  const readme = await readFile(join(folder, "README.md"), "utf8").catch(() => "");
  const inReadme = /^#+ licen[cs]e\s*$([\s\S]*permission[\s\S]*)/im.exec(readme)?.[1];
  if (inReadme !== undefined) return inReadme;
  const holder = typeof author === "string" ? author : author?.name;
  if (license !== "MIT" || holder === undefined)
    throw new Error(`${name} is bundled and carries no licence's text`);
  // Our own is the same licence: its words, with the other's name.
  const [, words = ""] =
    /(Permission is hereby granted[\s\S]*)/.exec(await readFile("LICENSE", "utf8")) ?? [];
  return `The MIT License, which the package names without its text.\n\nCopyright (c) ${holder}\n\n${words}`;
}

function compare(one, other) {
  return one < other ? -1 : one > other ? 1 : 0;
}
