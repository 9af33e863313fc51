/** Presses the one button of a sign-in link, where the service says that the person has opened the link themselves. */
export function goOn(page: Document): void {
  page.querySelector<HTMLFormElement>("form[data-goes-on]")?.requestSubmit();
}
