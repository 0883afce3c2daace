/* Shows times of the server in the time zone of the browser, and the time since a moment, which grows.

   Without this script, the page shows UTC and the time at which it was rendered. */

const REFRESH = 30_000; // milliseconds

/** Show each <time data-clock> below `root` in the local time zone. */
export function showLocalTimes(root) {
  for (const time of root.querySelectorAll("time[data-clock]")) {
    const moment = new Date(time.dateTime);
    time.textContent = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    time.title = moment.toLocaleString();
  }
}

/** Show in `element` the whole minutes since its data-since, until `isOver()`. */
export function showElapsed(element, isOver) {
  const since = new Date(element.dataset.since);
  const refresh = () => {
    if (!isOver()) element.textContent = inWords(Math.floor((Date.now() - since) / 60_000));
  };
  setInterval(refresh, REFRESH);
  refresh();
}

function inWords(minutes) {
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}
