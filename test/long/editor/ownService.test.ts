import { ownService } from "../../editor/screen/ownService.ts";
import { log, putLogPipelines } from "./own/log.ts";
import { pipelineFile } from "./own/pipelineFile.ts";
import { statusBar } from "./own/statusBar.ts";
import { tasks } from "./own/tasks.ts";
import { views } from "./own/views.ts";

describe("VS Code, with this machine's own service", () => {
  const at = ownService(async (workspace, held) => {
    await putLogPipelines(workspace, held);
    return {
      builtinExtensions: ["javascript", "log", "media-preview", "theme-defaults", "yaml"],
      settings: {
        "editor.minimap.enabled": false,
        // Words of the file that the editor offers by itself would take the Tab and Enter of whoever types.
        "editor.wordBasedSuggestions": "off",
      },
    };
  });

  // The views say first what they say before any run; the terminal of tasks takes half of the window.
  views(at);
  statusBar(at);
  log(at);
  pipelineFile(at);
  tasks(at);
});
