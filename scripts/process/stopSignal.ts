const stopping = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Aborts when this process is told to stop. A repeated signal changes nothing.
 * npm passes a signal on to its shell and not to the script in it, so a script of npm also stops when that shell is gone.
 */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = (why: string) => controller.abort(new Error(`Stopped: ${why}`));
  for (const name of stopping) process.on(name, () => stop(name));
  if (process.env["npm_lifecycle_event"] !== undefined) {
    const starter = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid !== starter) stop("npm is gone");
    }, 500);
    watch.unref();
  }
  return controller.signal;
}
