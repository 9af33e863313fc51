/**
 * Notes which packages end up in what the build makes, by what esbuild says of each output.
 * @returns the plugin for each build, and the packages' folders, below the working folder with `/`, as they come.
 */
export function noteBundledPackages() {
  const folders = new Set();
  const plugin = {
    name: "note-bundled-packages",
    setup(main) {
      main.initialOptions.metafile = true;
      main.onEnd(({ metafile }) => {
        for (const { inputs } of Object.values(metafile?.outputs ?? {})) {
          for (const [file, { bytesInOutput }] of Object.entries(inputs)) {
            const folder = bytesInOutput > 0 ? packageFolder(file) : undefined;
            if (folder !== undefined) folders.add(folder);
          }
        }
      });
    },
  };
  return { plugin, folders };
}

/** The innermost package that a file belongs to; undefined for a file of our own. */
function packageFolder(file) {
  return /^(?:[^:]*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0];
}
