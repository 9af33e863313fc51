/** Ends this process when the process `watched` no longer exists. */
export function start(watched) {
  setInterval(() => {
    try {
      process.kill(watched, 0);
    } catch {
      process.exit(87);
    }
  }, 1000).unref();
}
