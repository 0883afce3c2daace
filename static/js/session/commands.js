/* Commands by HTTP. Each carries an id of its own, so one that is sent twice is carried out once. */

const RETRY_AFTER = [500, 2000]; // milliseconds before the second and the third attempt
const LOGGED_OUT = "You are logged out. Log in again in another tab, then reload this page. What you typed is kept.";
const NOT_REACHED = "The server does not answer. Nothing is lost: try again in a moment.";

/**
 * Sends `fields` (a FormData) to `address`; resolves to {accepted, message, certain}.
 *
 * Without an answer it tries again by itself, with the same command id. `certain` is false when there was
 * none in the end: then the command may or may not have been carried out, and its id must be kept.
 */
export async function send(address, fields) {
  for (const wait of [...RETRY_AFTER, null]) {
    try {
      return await attempt(address, fields);
    } catch {
      if (wait !== null) await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
  return { accepted: false, certain: false, message: NOT_REACHED };
}

async function attempt(address, fields) {
  const response = await fetch(address, {
    method: "POST",
    body: new URLSearchParams(fields),
    headers: { Accept: "application/json" },
    redirect: "manual",
    keepalive: true,
  });
  if (response.type === "opaqueredirect") return { accepted: false, certain: true, message: LOGGED_OUT };
  const answer = await response.json().catch(() => null);
  if (answer) return { ...answer, certain: true };
  if (response.status >= 500) throw new Error(`status ${response.status}`);
  const message = `The server refused this (status ${response.status}). Reload the page; what you typed is kept.`;
  return { accepted: false, certain: true, message };
}
