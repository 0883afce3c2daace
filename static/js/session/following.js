/* Scrolls with the conversation while its end is in view, and never takes the reader away from anything else. */

const ROUNDING = 1; // pixels: positions are fractions, heights are whole

/** Keeps the reader of `box` at its end while they are there; `jump`, shown elsewhere, brings them back. */
export function followEnd(box, jump) {
  let following = true;
  let kept = 0; // where the reader was when last seen at the end

  /* The position itself is asked, when it matters: a scroll event comes a frame after the reader has moved,
     and text may come between. Who is no longer at the end without having moved up has not left it: the box
     has become smaller. */
  function look() {
    const place = box.scrollTop;
    const atEnd = box.scrollHeight - box.clientHeight - place <= ROUNDING;
    following = atEnd || (following && place >= kept - ROUNDING);
    if (atEnd) kept = place;
    jump.hidden = following;
  }

  function toEnd() {
    box.scrollTop = box.scrollHeight;
    look();
  }

  box.addEventListener("scroll", look);
  jump.addEventListener("click", toEnd);
  // A notice, a longer draft or another size of the window moves the end out of view.
  new ResizeObserver(() => following && toEnd()).observe(box);
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
