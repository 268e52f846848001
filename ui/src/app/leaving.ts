// Whoever has unsaved work may object to a change of page.
type Guard = () => boolean;

let guard: Guard | null = null;

/** `may` is asked before every change of page, until the returned function is called. */
export function guardLeaving(may: Guard): () => void {
  guard = may;
  return () => {
    if (guard === may) guard = null;
  };
}

/** For the router: the new address only with the consent of who is there. */
export function aroundNavigation<Args extends unknown[]>(navigate: (...args: Args) => void, ...args: Args): void {
  if (guard === null || guard()) {
    guard = null;
    navigate(...args);
  }
}
