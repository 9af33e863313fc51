import { followEvents } from "./followEvents.ts";
import { goOn } from "./goOn.ts";
import { Shown } from "./shown.ts";
import { submitInPlace } from "./submitInPlace.ts";

// The page works without this; with it, it is live. Nothing is kept in the browser.
const shown = new Shown(document);
shown.begin();
goOn(document);
const { events } = document.body.dataset;
if (events !== undefined) {
  submitInPlace(shown);
  followEvents(shown, events);
}
