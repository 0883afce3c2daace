/* Scrolls with the conversation while its end is in view, and never takes the reader away from anything else. */

/** Watches `box`, whose last element is `mark`; `jump` is the button that brings the reader to the end. */
export function followEnd(box, mark, jump) {
  let atEnd = true;

  new IntersectionObserver(
    ([entry]) => {
      atEnd = entry.isIntersecting;
      if (atEnd) jump.hidden = true;
    },
    { root: box, rootMargin: "4px" },
  ).observe(mark);
  jump.addEventListener("click", toEnd);
  toEnd();

  function toEnd() {
    box.scrollTop = box.scrollHeight;
    jump.hidden = true;
  }

  return {
    /** To be called after something was added at the end. */
    grown() {
      if (atEnd) toEnd();
      else jump.hidden = false;
    },
    toEnd,
  };
}
