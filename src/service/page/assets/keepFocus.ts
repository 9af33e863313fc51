/**
 * Remembers where the focus is. @returns what brings it back, after a change that took its element away, to the nearest
 * place that is still there, so that nobody who works by keyboard starts at the top again.
 */
export function keepFocus(page: Document): () => void {
  const held = page.activeElement;
  const trail: string[] = [];
  for (let around = held; around instanceof HTMLElement; around = around.parentElement) {
    const { instead } = around.dataset;
    trail.push(...[around.id, instead ?? ""].filter((id) => id !== ""));
  }
  return () => {
    if (held === null || held === page.body || held.isConnected) return;
    const [place] = trail.flatMap((id) => page.getElementById(id) ?? []);
    const target = place?.matches("main") ? place : place?.querySelector<HTMLElement>("a, button, summary");
    (target ?? page.querySelector("main"))?.focus({ preventScroll: true });
  };
}
