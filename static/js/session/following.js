/* Scrolls with the conversation while its end is in view, and never takes the reader away from anything else. */

const ROUNDING = 1; // pixels: positions are fractions, heights are whole

/** Keeps the reader of `box` at its end while they are there; `jump`, shown elsewhere, brings them back. */
export function followEnd(box, jump) {
  let following = true;
  let kept = 0; // where the reader was when last seen at the end
  let sizes = ""; // of the box and its content, then

  /* The position itself is asked, when it matters: a scroll event comes a frame after the reader has moved,
     and text may come between. Who is no longer at the end without having moved up, or while the box or what is in it
     changed its size, has not left it. */
  function look() {
    const place = box.scrollTop;
    const now = [box.clientWidth, box.clientHeight, box.scrollHeight].join();
    const atEnd = box.scrollHeight - box.clientHeight - place <= ROUNDING;
    following = atEnd || (following && (place >= kept - ROUNDING || now !== sizes));
    if (atEnd) kept = place;
    if (atEnd || !following) sizes = now;
    jump.hidden = following;
  }

  function toEnd() {
    box.scrollTop = box.scrollHeight;
    look();
  }

  box.addEventListener("scroll", look);
  jump.addEventListener("click", toEnd);
  // A notice, a longer draft or another size of the window moves the end out of view.
  const resized = new ResizeObserver(() => following && toEnd());
  for (const part of [box, ...box.children]) resized.observe(part);
  toEnd();

  return {
    /** Carries out `change`, which adds something at the end, and shows the new end to who was at the old one. */
    grow(change) {
      look();
      change();
      if (following) toEnd();
    },
    toEnd,
  };
}
