/* A WebSocket that reconnects after it is lost. */

const FIRST_DELAY = 500; // milliseconds before the first reconnection
const MAX_DELAY = 15_000;

/* Close codes of the server after which reconnecting would fail again. */
const NOT_LOGGED_IN = 4401;
const REFUSALS = {
  4403: "Your account no longer has the role tutor, so this page does not update.",
  4404: "This session was erased or belongs to another tutor, so this page does not update.",
};

/**
 * Open a socket to `path` on this host.
 *
 * `on.open()` is called after each (re)connection, `on.message(object)` for each message, `on.lost()` when the
 * connection is lost and will be retried, `on.loggedOut()` and `on.refused(message)` when it will not be retried.
 * Returns a function that sends an object if the socket is open.
 */
export function connect(path, on) {
  let socket;
  let delay = FIRST_DELAY;
  let timer;
  let ended = false; // the server has refused the connection

  function open() {
    clearTimeout(timer);
    socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`);
    socket.onopen = () => {
      delay = FIRST_DELAY;
      on.open();
    };
    socket.onmessage = (event) => on.message(JSON.parse(event.data));
    socket.onclose = ({ code }) => {
      ended = code === NOT_LOGGED_IN || code in REFUSALS;
      if (ended) {
        if (code === NOT_LOGGED_IN) on.loggedOut();
        else on.refused(REFUSALS[code]);
        return;
      }
      on.lost();
      // Half of the delay is random, which spreads the reconnections to a restarted server.
      timer = setTimeout(open, delay * (0.5 + Math.random() / 2));
      delay = Math.min(delay * 2, MAX_DELAY);
    };
  }

  addEventListener("offline", () => {
    if (!ended) on.lost();
  });
  addEventListener("online", () => {
    if (ended) return;
    if (socket.readyState === WebSocket.CLOSED) open();
    else if (socket.readyState === WebSocket.OPEN) on.open();
  });
  open();
  return (message) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  };
}
