import type { Shown } from "./shown.ts";

/** Lets the buttons of the page's main part work without leaving it, so that the focus and the place stay. */
export function submitInPlace(shown: Shown): void {
  const { page } = shown;
  page.querySelector("main")?.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement)) return;
    event.preventDefault();
    if (form.ariaBusy !== "true") void submit(shown, form);
  });
}

async function submit(shown: Shown, form: HTMLFormElement): Promise<void> {
  const { page } = shown;
  form.ariaBusy = "true";
  const near = form.closest("[id]:not(main)")?.id ?? "";
  try {
    const body = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (typeof value === "string") body.set(name, value);
    const reply = await fetch(form.action, { method: "POST", body });
    if (!reply.ok || new URL(reply.url).pathname !== page.location.pathname) {
      // Signed out, or refused: the browser shows the answer itself.
      form.submit();
      return;
    }
    shown.replaceBy(await reply.text());
  } catch {
    form.submit();
    return;
  } finally {
    form.ariaBusy = null;
  }
  if (page.activeElement !== null && page.activeElement !== page.body) return;
  // The button has gone with what it did: go on from where it was.
  const place = page.getElementById(near);
  (place?.querySelector<HTMLElement>("a, button") ?? page.querySelector("main"))?.focus();
}
