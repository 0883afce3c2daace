/* One tab of a browser writes in a session; another one follows it live, and can take over. */

/**
 * Calls `follow()` when another tab writes in this session, at once or when it takes over later.
 *
 * `takeOver` is the button by which this tab becomes the one that writes: it opens the page anew, with all that was
 * typed in the other. Where the browser has no locks (a page without HTTPS), every tab writes.
 */
export function writeInOneTab(session, takeOver, follow) {
  if (!navigator.locks) return;
  const name = `hintbench.writing.${session}`;
  const steal = sessionStorage.getItem(name) !== null;
  sessionStorage.removeItem(name);
  takeOver.addEventListener("click", () => {
    sessionStorage.setItem(name, "");
    location.reload();
  });
  const hold = (lock) => (lock ? new Promise(() => {}) : follow());
  navigator.locks.request(name, steal ? { steal } : { ifAvailable: true }, hold).catch(follow);
}
