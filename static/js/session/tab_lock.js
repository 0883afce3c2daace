/* Lets one tab of a browser write in a session. The other tabs are read-only and can take over. */

/**
 * Acquire the lock for writing in this session; call `onReadOnly()` if another tab holds it or takes it later.
 *
 * The button `takeOver` reloads the page and acquires the lock for this tab; the reloaded page restores the draft of
 * the other tab. Browsers provide locks only with HTTPS; without locks every tab writes.
 */
export function lockWriting(session, takeOver, onReadOnly) {
  if (!navigator.locks) return;
  const name = `hintbench.writing.${session}`;
  const steal = sessionStorage.getItem(name) !== null;
  sessionStorage.removeItem(name);
  takeOver.addEventListener("click", () => {
    sessionStorage.setItem(name, "");
    location.reload();
  });
  const hold = (lock) => (lock ? new Promise(() => {}) : onReadOnly());
  navigator.locks.request(name, steal ? { steal } : { ifAvailable: true }, hold).catch(onReadOnly);
}
