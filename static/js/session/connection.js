/* One WebSocket that comes back by itself after it is lost. */

const FIRST_WAIT = 500; // milliseconds before the first new attempt
const LONGEST_WAIT = 15_000;

/* The server's own close codes: trying again would not help. */
const REFUSALS = {
  4401: "You are logged out. Log in again in another tab, then reload this page. What you typed is kept.",
  4403: "You are not a tutor any more, so this page does not follow the session.",
  4404: "This session is not yours, so this page does not follow it.",
};

/**
 * Opens a socket to `path` on this host.
 *
 * `on.open()` is called after each (re)connection, `on.message(object)` for each message, `on.lost()` when the
 * connection is gone and another attempt will follow, `on.refused(sentence)` when none will.
 * Returns a function that sends an object, or nothing while there is no connection.
 */
export function connect(path, on) {
  let socket;
  let wait = FIRST_WAIT;
  let timer;

  function open() {
    clearTimeout(timer);
    socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`);
    socket.onopen = () => {
      wait = FIRST_WAIT;
      on.open();
    };
    socket.onmessage = (event) => on.message(JSON.parse(event.data));
    socket.onclose = (event) => {
      if (event.code in REFUSALS) {
        on.refused(REFUSALS[event.code]);
        return;
      }
      on.lost();
      // A part of the wait is random, so that a restarted server is not met by everybody at once.
      timer = setTimeout(open, wait * (0.5 + Math.random() / 2));
      wait = Math.min(wait * 2, LONGEST_WAIT);
    };
  }

  addEventListener("offline", () => on.lost());
  addEventListener("online", () => {
    if (socket.readyState === WebSocket.CLOSED && timer) open();
    else if (socket.readyState === WebSocket.OPEN) on.open();
  });
  open();
  return (message) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
}
