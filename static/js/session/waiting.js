/* What the page says while no text of the reply arrives: the countdown of a schedule, or the call that is running. */

const PATIENCE = 5; // seconds without text before the page speaks of it

/** Say in `line` how long the tutor waits. */
export function replyWait(line) {
  let wait = null; // what the server said last
  let since = 0; // when it said so, or when the last text arrived, in milliseconds
  let begun = 0; // when the wait for text began
  let left = 0; // seconds until the reply is given up, at `since`
  let furthest = 0; // characters of the longest text of the reply so far
  let timer;

  function show() {
    line.textContent = wait === null ? "" : sentence();
  }

  function sentence() {
    const passed = (performance.now() - since) / 1000;
    if (wait.due_in !== null && furthest === 0) {
      const seconds = Math.ceil(wait.due_in - passed);
      if (seconds > 0) return `appears in ${seconds} s`;
      if (wait.call === null) return "appears as soon as it is complete";
    }
    if (wait.call === null || (performance.now() - begun) / 1000 < PATIENCE) return "";
    const state = furthest ? "no new text" : "no answer yet";
    const call = wait.calls > 1 ? `, attempt ${wait.call} of ${wait.calls}` : "";
    return `${state}${call}, gives up in ${Math.max(0, Math.ceil(left - passed))} s`;
  }

  return {
    /** Take the state of the wait from the server; null: no reply is awaited. */
    update(state) {
      since = performance.now();
      if (wait === null) begun = since;
      if (state === null) furthest = 0;
      wait = state;
      left = state?.gives_up_in ?? 0;
      clearInterval(timer);
      if (state !== null) timer = setInterval(show, 1000);
      show();
    },

    /** Text has arrived; the reply has `length` characters now. A repeated beginning is not progress. */
    progress(length) {
      if (length === 0) return;
      begun = performance.now();
      if (length > furthest) {
        furthest = length;
        if (wait?.limit) [since, left] = [begun, wait.limit];
      }
      show();
    },
  };
}
