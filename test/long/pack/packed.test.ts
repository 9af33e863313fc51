import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { listFiles, PackageManager } from "@vscode/vsce";
import manifest from "../../../package.json" with { type: "json" };
import { projectRoot } from "../../../scripts/projectRoot.ts";
import { filesLike, stringsOf, valuesOf } from "../../extension/projectTexts.ts";

describe("the package", () => {
  it("holds all that the manifest and its texts name", async () => {
    const packed = new Set(await listFiles({ cwd: projectRoot, packageManager: PackageManager.None }));
    const named = [
      manifest.icon,
      ...stringsOf("icon").filter((icon) => !icon.startsWith("$(")),
      ...valuesOf("media")
        .flatMap((media) => [
          ...valuesOf("image", { media }),
          ...valuesOf("markdown", { media }),
          ...valuesOf("svg", { media }),
        ])
        .map(String),
      ...valuesOf("media")
        .flatMap((media) => Object.values(Object(valuesOf("image", { media })[0] ?? {})))
        .filter((file) => typeof file === "string"),
      ...stringsOf("url").filter((url) => url.startsWith("./")),
      manifest.main,
      ...filesLike("package.nls*.json"),
      ...filesLike("l10n/*.json"),
      "LICENSE",
      "CHANGELOG.md",
      "scripts/build/editor/README.md",
    ]
      .filter((file) => file !== "[object Object]")
      .map((file) => file.replace(/^\.\//, ""));
    for (const file of named) {
      assert(
        packed.has(file) || (file.startsWith("dist/") && !existsSync(join(projectRoot, file))),
        `${file} isn't packed`,
      );
    }
    for (const file of packed)
      assert(
        !/^(?:src|test|scripts\/(?!build\/editor\/README\.md)|bench|node_modules)\//.test(file),
        `${file} is packed`,
      );
  });
});
