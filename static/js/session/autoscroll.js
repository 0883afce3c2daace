/* Keeps the conversation scrolled to its end while the end is in view. Otherwise the scroll position stays as it is. */

const ROUNDING = 1; // pixels: positions are fractions, heights are whole

/** Keep `box` scrolled to its end while the end is in view. `jump` is a button that scrolls to the end and is hidden there. */
export function autoscroll(box, jump) {
  let following = true;
  let endPosition = 0; // the scroll position when the end was last in view
  let lastSizes = ""; // sizes of the box and its content at that time

  /* Scroll events arrive one frame late and text may be added in between, so this reads the position when it matters.
     The reader has left the end only by scrolling up while all sizes stay the same. */
  function measure() {
    const position = box.scrollTop;
    const sizes = [box.clientWidth, box.clientHeight, box.scrollHeight].join();
    const atEnd = box.scrollHeight - box.clientHeight - position <= ROUNDING;
    following = atEnd || (following && (position >= endPosition - ROUNDING || sizes !== lastSizes));
    if (atEnd) endPosition = position;
    if (atEnd || !following) lastSizes = sizes;
    jump.hidden = following;
  }

  function scrollToEnd() {
    box.scrollTop = box.scrollHeight;
    measure();
  }

  box.addEventListener("scroll", measure);
  jump.addEventListener("click", scrollToEnd);
  // A notice, a longer draft or a resized window moves the end out of view.
  const resized = new ResizeObserver(() => following && scrollToEnd());
  for (const part of [box, ...box.children]) resized.observe(part);
  scrollToEnd();

  return {
    /** Call `change`, which adds content, then scroll to the end if it was in view before. */
    update(change) {
      measure();
      change();
      if (following) scrollToEnd();
    },
    scrollToEnd,
  };
}
