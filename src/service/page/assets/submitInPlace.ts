import type { Shown } from "./shown.ts";

/** Lets the buttons of the page's main part work without leaving it, so that the focus and the place stay. */
export function submitInPlace(shown: Shown): void {
  shown.page.querySelector("main")?.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement)) return;
    event.preventDefault();
    if (form.ariaBusy !== "true") void submit(shown, form);
  });
}

async function submit(shown: Shown, form: HTMLFormElement): Promise<void> {
  form.ariaBusy = "true";
  try {
    const body = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (typeof value === "string") body.set(name, value);
    const reply = await fetch(form.action, { method: "POST", body });
    if (reply.ok && new URL(reply.url).pathname === shown.page.location.pathname) {
      shown.replaceBy(await reply.text());
      return;
    }
  } catch {
    // As below: what the browser says of a service that is away is as good as anything.
  } finally {
    form.ariaBusy = null;
  }
  // Signed out, or refused: the browser shows the answer itself. Asking twice to cancel changes nothing.
  form.submit();
}
