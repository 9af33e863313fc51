// Lists every text that a person may read, with its place, so that all of them can be read side by side.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { projectRoot } from "./projectRoot.ts";

/** A text of one word is a name, a key or a mark. */
const sentence = /\p{L}{2,}\S* \S*\p{L}/u;
const sql = /^\s*(?:select|insert|update|delete|create|alter|drop|pragma|with|begin) /iu;

for (const file of globSync("src/**/*.ts", { cwd: projectRoot }).sort()) {
  const source = readFileSync(join(projectRoot, file), "utf8");
  const list = ({ start, end }: { readonly start: number; readonly end: number }) => {
    const text = source.slice(start + 1, end - 1);
    const line = source.slice(0, start).split("\n").length;
    if (sentence.test(text) && !sql.test(text)) console.log(`${file}:${line}\t${text.replaceAll("\n", " ")}`);
  };
  new Visitor({
    Literal: (node) => typeof node.value === "string" && list(node),
    TemplateLiteral: list,
  }).visit(parseSync(file, source).program);
}
const manifestTexts: Record<string, string> = JSON.parse(
  readFileSync(join(projectRoot, "package.nls.json"), "utf8"),
);
for (const [key, text] of Object.entries(manifestTexts)) console.log(`package.nls.json: ${key}\t${text}`);
