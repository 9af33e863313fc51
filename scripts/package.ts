// `npm run package`: the extension as one file that VS Code installs.
import { createVSIX } from "@vscode/vsce";
import { vsixFile } from "./editor/vsixFile.ts";
import { projectRoot } from "./projectRoot.ts";

// Everything that runs is in dist/ already, so that no dependency is looked for. The manifest's
// `vscode:prepublish` builds it.
await createVSIX({ cwd: projectRoot, packagePath: vsixFile, dependencies: false, skipLicense: false });
