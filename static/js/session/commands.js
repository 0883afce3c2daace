/* Commands over HTTP. Each has an id, so the server executes a repeated command once. */

const RETRY_DELAYS = [500, 2000]; // milliseconds before the second and the third attempt
const KEEPALIVE_BYTES = 30_000; // a request that outlives its page fails if all such bodies together exceed 64 KiB
export const LOGGED_OUT = "You are logged out. Log in again in another tab, then reload this page. Your text is kept.";
const UNREACHABLE = "The server does not respond. Nothing is lost. Try again in a moment.";

/**
 * Send `fields` (a FormData or an object) to `address`; resolves to {accepted, message, certain, loggedOut}.
 *
 * Without a response, the command is retried with the same id. `certain` is false if every attempt failed, or if the
 * server could not store the command: the server may or may not have executed it, so a later attempt must use the same
 * id.
 */
export async function send(address, fields) {
  for (const delay of [...RETRY_DELAYS, null]) {
    try {
      return await attempt(address, fields);
    } catch {
      if (delay !== null) await new Promise((resolve) => setTimeout(resolve, delay));
    }
  }
  return { accepted: false, certain: false, message: UNREACHABLE };
}

async function attempt(address, fields) {
  const body = new URLSearchParams(fields);
  const response = await fetch(address, {
    method: "POST",
    body,
    headers: { Accept: "application/json" },
    redirect: "manual",
    keepalive: body.toString().length <= KEEPALIVE_BYTES,
  });
  if (response.type === "opaqueredirect") return { accepted: false, certain: true, loggedOut: true, message: LOGGED_OUT };
  const answer = await response.json().catch(() => null);
  if (answer) return { ...answer, certain: response.status < 500 };
  if (response.status >= 500) throw new Error(`status ${response.status}`);
  const message = `The server rejected the request (status ${response.status}). Reload the page. Your text is kept.`;
  return { accepted: false, certain: true, message };
}
