/** Nearer to its end than this, in pixels, a log counts as read to the end. */
const nearEnough = 8;

/** For each log that stands at its end (or was never scrolled), the way to bring it there again after a change. */
export function stickToEnd(page: Document): readonly (() => void)[] {
  return [...page.querySelectorAll<HTMLElement>("[data-sticks]")].flatMap((log) => {
    const fresh = log.dataset["sticks"] === "";
    const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight <= nearEnough;
    if (!fresh && !atEnd) return [];
    return [
      () => {
        log.dataset["sticks"] = "yes";
        log.scrollTop = log.scrollHeight;
      },
    ];
  });
}
